import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Map;
import org.opensearch.common.settings.Settings;
import org.opensearch.http.HttpServerTransport;
import org.opensearch.node.InternalSettingsPreparer;
import org.opensearch.node.Node;
import org.opensearch.transport.Netty4Plugin;

/** One node that listens on this host only, on free ports: java -cp JARS OpenSearchNode.java HOME. HOME/port tells. */
class OpenSearchNode extends Node {
    OpenSearchNode(Settings settings) {
        super(
            InternalSettingsPreparer.prepareEnvironment(settings, Map.of(), null, () -> "test"),
            List.of(Netty4Plugin.class),
            false
        );
    }

    public static void main(String[] arguments) throws Exception {
        Path home = Path.of(arguments[0]);
        Settings settings = Settings.builder()
            .put("path.home", home.toString())
            .put("http.port", 0)
            .put("transport.port", 0)
            .put("network.host", "127.0.0.1")
            .put("discovery.type", "single-node")
            .put("cluster.routing.allocation.disk.threshold_enabled", false)
            .put("node.processors", 2)
            .build();
        Node node = new OpenSearchNode(settings).start();
        int port = node.injector().getInstance(HttpServerTransport.class).boundAddress().publishAddress().getPort();
        Path partial = Files.writeString(home.resolve("partial"), Integer.toString(port));
        Files.move(partial, home.resolve("port"), StandardCopyOption.ATOMIC_MOVE);
        Thread.currentThread().join(); // all of its own threads are daemons
    }
}
