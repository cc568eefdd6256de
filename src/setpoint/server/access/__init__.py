"""Access: authentication, authorization, priority and fairness, and the audit log."""
