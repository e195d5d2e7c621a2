import java.io.FileOutputStream;
import java.io.PrintStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.http.Protocol;
import software.amazon.awssdk.http.nio.netty.NettyNioAsyncHttpClient;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.cloudwatch.CloudWatchAsyncClient;
import software.amazon.awssdk.services.dynamodb.DynamoDbAsyncClient;
import software.amazon.awssdk.services.kinesis.KinesisAsyncClient;
import software.amazon.kinesis.common.ConfigsBuilder;
import software.amazon.kinesis.common.InitialPositionInStream;
import software.amazon.kinesis.common.InitialPositionInStreamExtended;
import software.amazon.kinesis.coordinator.CoordinatorConfig.ClientVersionConfig;
import software.amazon.kinesis.coordinator.Scheduler;
import software.amazon.kinesis.lifecycle.events.InitializationInput;
import software.amazon.kinesis.lifecycle.events.LeaseLostInput;
import software.amazon.kinesis.lifecycle.events.ProcessRecordsInput;
import software.amazon.kinesis.lifecycle.events.ShardEndedInput;
import software.amazon.kinesis.lifecycle.events.ShutdownRequestedInput;
import software.amazon.kinesis.metrics.NullMetricsFactory;
import software.amazon.kinesis.processor.ShardRecordProcessor;
import software.amazon.kinesis.processor.SingleStreamTracker;
import software.amazon.kinesis.retrieval.KinesisClientRecord;
import software.amazon.kinesis.retrieval.polling.PollingConfig;

/** A worker of the real KCL: java -cp JARS KclWorker.java APPLICATION STREAM WORKER KINESIS DYNAMODB FILE MOST.
 *
 * Appends a line to FILE when it has read a record, checkpoints at the record's own place in an aggregate, and appends
 * another line. On SIGTERM it leaves as the KCL does. */
class KclWorker {
    public static void main(String[] a) throws Exception {
        var credentials = StaticCredentialsProvider.create(AwsBasicCredentials.create("local", "local"));
        var http = NettyNioAsyncHttpClient.builder().protocol(Protocol.HTTP1_1);
        var kinesis = KinesisAsyncClient.builder().endpointOverride(URI.create(a[3])).region(Region.US_EAST_1)
            .credentialsProvider(credentials).httpClientBuilder(http).build();
        var tables = DynamoDbAsyncClient.builder().endpointOverride(URI.create(a[4])).region(Region.US_EAST_1)
            .credentialsProvider(credentials).build();
        var metrics = CloudWatchAsyncClient.builder().endpointOverride(URI.create(a[4])).region(Region.US_EAST_1)
            .credentialsProvider(credentials).build();
        var told = new PrintStream(new FileOutputStream(a[5], true), true, StandardCharsets.UTF_8);
        var oldest = InitialPositionInStreamExtended.newInitialPosition(InitialPositionInStream.TRIM_HORIZON);
        var configs = new ConfigsBuilder(
            new SingleStreamTracker(a[1], oldest), a[0], kinesis, tables, metrics, a[2], () -> new Processor(told)
        );
        var polling = new PollingConfig(a[1], kinesis).maxRecords(Integer.parseInt(a[6])).idleTimeBetweenReadsInMillis(200);
        var coordinator = configs.coordinatorConfig().parentShardPollIntervalMillis(500).shardConsumerDispatchPollIntervalMillis(100)
            .clientVersionConfig(ClientVersionConfig.CLIENT_VERSION_CONFIG_COMPATIBLE_WITH_2X); // else a dead leader is missed for 150 s
        var leases = configs.leaseManagementConfig().failoverTimeMillis(3000).shardSyncIntervalMillis(1000)
            .leasesRecoveryAuditorExecutionFrequencyMillis(2000);
        var scheduler = new Scheduler(
            configs.checkpointConfig(), coordinator, leases, configs.lifecycleConfig(),
            configs.metricsConfig().metricsFactory(new NullMetricsFactory()), configs.processorConfig(),
            configs.retrievalConfig().retrievalSpecificConfig(polling)
        );
        var worker = new Thread(scheduler);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            Future<Boolean> left = scheduler.startGracefulShutdown();
            try {
                left.get(20, TimeUnit.SECONDS); // it does not always come to an end
            } catch (Exception lost) {
                lost.printStackTrace();
            }
        }));
        worker.start();
        worker.join();
    }

    private record Processor(PrintStream told) implements ShardRecordProcessor {
        public void initialize(InitializationInput input) {}

        public void processRecords(ProcessRecordsInput input) {
            List<KinesisClientRecord> records = input.records();
            for (KinesisClientRecord one : records) {
                var text = StandardCharsets.UTF_8.decode(one.data().duplicate());
                tell("read " + text);
                try {
                    input.checkpointer().checkpoint(one.sequenceNumber(), one.subSequenceNumber());
                } catch (Exception lost) {
                    throw new IllegalStateException(lost);
                }
                tell("done " + text);
            }
        }

        private void tell(String line) {
            synchronized (told) {
                told.println(line);
            }
        }

        public void leaseLost(LeaseLostInput input) {}

        public void shardEnded(ShardEndedInput input) {
            try {
                input.checkpointer().checkpoint();
            } catch (Exception lost) {
                throw new IllegalStateException(lost);
            }
        }

        public void shutdownRequested(ShutdownRequestedInput input) {}
    }
}
