package app

import "opdeck/internal/store"

// Inbox is the inbox of webhooks, shared by all processes on the store.
func (a *App) Inbox() *store.Inbox { return store.NewInbox(a.Store.Bulk) }
