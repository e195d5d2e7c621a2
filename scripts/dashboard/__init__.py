"""The picture of the dashboard for Grafana in the pages: a night of metrics, asked of a Prometheus, drawn."""
