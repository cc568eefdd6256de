"""API priority and fairness: queues requests of a busy server and rejects requests under overload."""
