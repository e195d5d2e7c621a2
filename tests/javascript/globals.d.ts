// What Airflow's page provides to a plugin's module, and what it looks for afterwards.
declare var React: any;
declare var ChakraUI: any;
declare var ReactRouterDOM: any;
declare var Partitions: any;
declare var AirflowPlugin: any;
