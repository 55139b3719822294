"""Decision rules: small pure functions over measured figures."""
