// Package audit keeps the audit trail: who did what to which object, from where, with which result, in one hash chain
// for all processes and hosts that share a store.
//
// A record is one line of JSON whose exact bytes are stored and hashed; it holds the hash of the previous record. The
// intent of a write is durable before the write is sent; its outcome is appended afterwards. Intents.OpenIntents
// lists those without an outcome, for a person or package followup to settle.
//
// The chain alone cannot show that its tail was cut or that all of it was rewritten. Signed checkpoints can: keep
// their files where people who can write to the store cannot write.
//
// The trail holds no secrets, no contents of documents and no full account numbers; every text from outside is
// bounded and, unless plain, quoted.
package audit
