// Loaded before an engine that would listen on every address of the machine: its servers listen on 127.0.0.1 only.
const net = require("node:net");
const listen = net.Server.prototype.listen;

net.Server.prototype.listen = function (where, ...rest) {
  if (where !== null && typeof where === "object") {
    return listen.call(this, { ...where, host: "127.0.0.1" }, ...rest);
  }
  return listen.call(this, { port: where, host: "127.0.0.1" }, ...rest.filter((each) => typeof each === "function"));
};
