"""Client telemetry (KIP-714): metrics of clients, pushed to brokers that subscribed to them."""
