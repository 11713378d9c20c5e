// Package audit keeps the audit trail: who did what to which object, from
// where, with which result, in one chain of hashes for all processes and hosts
// that share a store.
//
// A record is one line of JSON whose exact bytes are stored and hashed; it holds
// the hash of the record before it. The intent of a write is durable before the
// write leaves; its outcome is added afterwards. Intents.OpenIntents lists those
// without an outcome, for a person or package followup to settle.
//
// The chain alone cannot show that its tail was cut or that all of it was
// rewritten. Signed checkpoints can: keep their files where a person who can write to
// the store cannot.
//
// The trail holds no secrets, no contents of documents and no full account
// numbers; every text from outside is bounded and, unless plain, quoted.
package audit
