"""Why a run differs from another: verdict, attribution, anomalies and causes."""
