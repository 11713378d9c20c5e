// Package index keeps a local mirror of the operations, so that browsing,
// filtering, sorting and totals cost no call of the account's budget.
//
// Operations come from list pages, single reads and webhooks. The newest state
// wins by updatedAt; a tie with other content and a step backwards mark the
// operation as owed a single read. Everything says its age and source. A
// background sync (Syncer) fills the index with calls that nobody else needs.
//
// The package declares what it needs from a database (Store); the
// implementation for both engines stands with the other queries.
package index
