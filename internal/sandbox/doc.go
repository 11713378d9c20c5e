// Package sandbox is the built-in service: the payment operations, compliance
// and webhook service of the specification as a real HTTP server, with its data
// in one SQLite file. The console embeds it through Transport (no port is
// opened); "opdeck sandbox" serves it on TCP. Of opdeck it uses only the names
// that the specification lists (api.DocumentTypes).
//
// What the service's documents leave open is decided here and marked
// x-assumption in api/openapi.yaml.
//
// # One file is one server
//
// Token pairs, rate windows, settings, data and the outbox of webhooks
// are all in the file. Several processes that have it open behave as
// one server. Only the clock belongs to the process. Options are written into
// the file when they are set; see Options.
//
// # Sample data
//
// 500 operations (or as many as asked for), 20 customers of both kinds, their
// accounts, counterparties and documents, all drawn from the seed: the same
// seed gives the same ids and values, as a back office has them. Of operations
// older than six days one of thirty is still open. The newest operation is from
// 2 November 2026, with Options.Fresh from now. Counted from it (0 is the newest) these are fixed:
//
//	 0  a pending withdrawal over SWIFT with three documents, the third locked
//	 1  the same, ended (SUCCESS)
//	22, 47, 72 …  exchanges with two children each, the next two in the list
//
// With Options.Odd (for tests) amounts and states are drawn more widely, one customer
// has a currency that does not exist, and these are added:
//
//	10  units of twenty digits
//	11  a negative amount: units -1234, nanos -560000000
//	12  units 0, nanos 1
//	13  units 9, nanos 999999999
//	14  an unknown currency, XQZ
//	15  signs of units and nanos disagree
//	16  terminal escapes in reference, comment and a file name
//	17  direction marks (bidi) in comment, counterparty and a file name
//	18  zero-width characters and stacked marks in reference, comment, customer and a file name
//	19  line breaks, tab, NUL, backspace in comment and a file name
//	20  a comment of four thousand characters
//	21  unknown fields, unknown status, type and payment type
//	35  fields that are null
//
// Numeric codes of operations in webhooks (assumption): status 0 NOTSET,
// 1 PENDING, 2 PROCESSING, 3 SUCCESS, 4 FAILED, 5 CANCELED, 6 COMPLETED; type
// and payment type by their place in the documented lists, EXCHANGE 4. A word
// outside these lists has a code above 99, the same each time.
//
// With Options.Living the newest operation is a minute old instead, the others
// spread over the sixty days before, and customers in VERIFY began to wait today.
// When such a file is opened later, operations are added for the time between.
// Live moves one of the newest open operations on every six seconds, and adds one
// every third time; Receive takes the webhooks of it without a port.
//
// # Removal of a document
//
// Checks run in this order; the texts are the specification's word for word:
//
//	404  Operation not found: <operation_id>
//	404  Document not found: <document_id>
//	409  Document <document_id> is not attached to operation <operation_id>
//	409  Cannot modify documents for completed operations   (any end state)
//	423  Document is locked and cannot be removed
//
// # Share tokens
//
// "opdeck sandbox" prints tokens that are ready. A token that people can type is
// demo-KIND-SCENARIO-ANYTHING: KIND individual or corporate, SCENARIO ok, outstanding,
// rejected or expired. It counts as issued when it is first shown and works once, so
// vary ANYTHING.
//
// # Webhooks
//
// Every change of an operation, customer, account, requisite or counterparty
// puts an event into the outbox, which is delivered by POST until the answer is
// 2xx: each by one process at a time, with waits of 1, 2, 4 … s up to 5 min, twelve
// times at most. A redirect counts as a failure. Deliveries carry
// "Authorization: Bearer JWT", signed HS256 with jwtSecret, with the claims iat,
// exp (5 min), jti (the hook_id) and body_sha256 (hex, over the body's bytes);
// an assumption. Failed events step back, so order is not promised.
//
// # Faults
//
// Package faulty makes the service answer otherwise: lost, late, without proof, in other words, shapes and orders.
package sandbox
