// Package index keeps a local mirror of the operations, so that browsing, filtering, sorting and totals need no
// calls.
//
// Operations come from list pages, single reads and webhooks. The newest state wins by updatedAt; equal times with
// different content, and a step backwards, make a single read of the operation due. All results have an age and a
// source. A background sync (Syncer) fills the index with spare calls.
//
// The package declares what it needs from a database (Store); internal/store/opindex implements it for both engines.
package index
