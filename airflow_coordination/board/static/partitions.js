// The page "Partitions": one React component on what Airflow's page provides (React, Chakra UI, React Router).
// This file is shipped as it is written: there is nothing to build.

import { freeze, usePace } from "./api.js";
import { Branches } from "./branches.js";
import { Dataset, Datasets, DatasetsOf } from "./datasets.js";
import { Duties } from "./duties.js";
import { Partitions } from "./listing.js";
import { Tiles } from "./map.js";
import { Overview } from "./overview.js";
import { Owners } from "./owners.js";
import { Problem, To, at, h, visible } from "./parts.js";
import { Deeds } from "./people/deeds.js";
import { Partition } from "./views.js";

const { Component } = globalThis.React;
const { Box, Button, Heading, HStack } = globalThis.ChakraUI;
const { useNavigate, useSearchParams } = globalThis.ReactRouterDOM;

/** Keeps an error of ours from taking Airflow's page with it. */
class Boundary extends Component {
  state = { error: /** @type {Error | null} */ (null) };

  static getDerivedStateFromError(error) {
    return { error };
  }

  render() {
    const { error } = this.state;
    return error ? h(Problem, null, `This page cannot be shown: ${error.message}`) : this.props.children;
  }
}

/** Returns prefix and name of a stored source identifier, which ends in its kind. */
const nameOf = (source) =>
  source.split("|").slice(0, -1).map((part) => visible(part.replaceAll("%7C", "|").replaceAll("%25", "%"))).join(" › ") || visible(source);

const OF_A_SOURCE = Object.assign(Object.create(null), { owners: Owners, audit: Deeds, map: Tiles, datasets: DatasetsOf, branches: Branches });
const TITLES = Object.assign(Object.create(null), { audit: "what people did" });
const OF_ALL = Object.assign(Object.create(null), { datasets: Datasets, duties: Duties });

function Board({ dagId: dag }) {
  const [parameters] = useSearchParams();
  const go = useNavigate();
  const place = Object.fromEntries(parameters);
  const { store, source, key, view, dataset } = place;
  const View = key ? Partition : !source ? (view === "audit" && store ? Deeds : OF_ALL[view]) ?? Overview : dataset !== undefined ? Dataset : OF_A_SOURCE[view] ?? Partitions;
  const inSource = { search: `?${new URLSearchParams({ store: store ?? "", source: source ?? "" })}` };
  const further = key || view || dataset !== undefined;
  return h(Box, { id: "partitions-board", p: 4, overflow: "auto", height: "100%" },
    h(HStack, { mb: 4, justify: "space-between", wrap: "wrap" }, h(HStack, { as: "nav", wrap: "wrap", "aria-label": "Where you are" },
      h(Heading, { size: "lg" }, source || view in OF_ALL || view === "audit" ? h(To, { to: { search: "" } }, "Partitions") : "Partitions"),
      !source && (view in OF_ALL || view === "audit" ? h(Heading, { size: "md" }, `› ${TITLES[view] ?? view}`) : h(To, { to: at({ view: "datasets" }) }, "DATASETS")),
      source && h(Heading, { size: "md" }, "› ", further ? h(To, { to: inSource }, nameOf(source)) : nameOf(source)),
      source && dataset !== undefined && h(Heading, { size: "md" }, "› ", h(To, { to: at({ store, source, view: "datasets" }) }, "datasets"), ` › ${visible(dataset)}`),
      source && !key && dataset === undefined && view in OF_A_SOURCE && h(Heading, { size: "md" }, `› ${TITLES[view] ?? view}`)), h(Pace)),
    h(View, { place: { ...place, dag }, go }));
}

/** When the newest of it was read, and a button that lets it stand. */
function Pace() {
  const { at: moment, frozen } = usePace();
  return h(HStack, { gap: 2, fontSize: "xs", color: "fg.muted", fontVariantNumeric: "tabular-nums" },
    moment && h("span", null, frozen ? "stopped, as of " : "as of ", h("time", { dateTime: moment.toISOString() }, moment.toLocaleTimeString([], { hourCycle: "h23" }))),
    h(Button, { size: "2xs", variant: frozen ? "solid" : "outline", "aria-pressed": frozen, title: "Let what stands here stand", onClick: () => freeze(!frozen) }, "Freeze"));
}

/** On the tab of a DAG, its run or its task instance: the sources of that DAG. */
const Page = ({ dagId }) => h(Boundary, null, h(Board, { dagId }));
globalThis.Partitions = Page;
globalThis.AirflowPlugin = Page;
