// Package sandbox is the built-in service: the payment operations, compliance
// and webhook service of the specification as a real HTTP server, with its data
// in one SQLite file. The console embeds it through Transport (no port is
// opened); "opdeck sandbox" serves it on TCP. It imports nothing else of opdeck.
//
// What the service's documents leave open is decided here and marked
// x-assumption in api/openapi.yaml.
//
// # One file is one server
//
// Token pairs, rate windows, counts of faults, settings, data and the outbox of
// webhooks are all in the file. Several processes that have it open behave as
// one server. Only the clock belongs to the process. Options are written into
// the file when they are set; see Options.
//
// # Sample data
//
// 500 operations (or as many as asked for), 20 customers of both kinds, their
// accounts, counterparties and documents, all drawn from the seed: the same
// seed gives the same ids and values. The newest operation is from 2 November
// 2026. Counted from it (0 is the newest) these are fixed:
//
//	 0  a pending withdrawal over SWIFT with three documents, the third locked
//	 1  the same, ended (SUCCESS)
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
//	22, 47, 72 …  exchanges with two children each, the next two in the list
//
// Numeric codes of operations in webhooks (assumption): status 0 NOTSET,
// 1 PENDING, 2 PROCESSING, 3 SUCCESS, 4 FAILED, 5 CANCELED, 6 COMPLETED; type
// and payment type by their place in the documented lists, EXCHANGE 4.
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
// GET /sandbox/share-tokens lists tokens that are ready for each customer. A
// token that people can type is demo-KIND-SCENARIO-ANYTHING: KIND individual or
// corporate, SCENARIO ok, outstanding, rejected or expired. It counts as issued
// when it is first shown and works once, so vary ANYTHING.
//
// # Webhooks
//
// Every change of an operation, customer, account, requisite or counterparty
// puts an event into the outbox, which is delivered by POST until the answer is
// 2xx: by one process at a time, with waits of 1, 2, 4 … s up to 5 min, twelve
// times at most. A redirect counts as a failure. Deliveries carry
// "Authorization: Bearer JWT", signed HS256 with jwtSecret, with the claims iat,
// exp (5 min), jti (the hook_id) and body_sha256 (hex, over the body's bytes);
// an assumption. Failed events step back, so order is not promised.
//
// # Faults
//
// A list of faults is separated by commas. Most are
//
//	KIND=TARGET[:ARGUMENT][:EVERY][@CHANCE][#TIMES]
//
// TARGET is a class (login, refresh, account, customer, billing, general), an
// endpoint (list, get, tree, attach, remove, customers, upload, application,
// set-application, finalize, files, download, share, link, accounts, hook-get,
// hook-set …), write (all but GET), api (all but login and refresh) or *.
// EVERY 3 strikes at each third matching call, CHANCE 0.2 at a fifth of those,
// TIMES 1 once in all.
//
//	delay=TARGET:2s         waits before the request is processed
//	late=TARGET:2s          waits after it was processed, before the answer
//	refuse=TARGET           connection closed, not processed
//	drop=TARGET             processed, connection closed without an answer
//	reset=TARGET            processed, connection reset (TCP RST)
//	truncate=TARGET         processed, half of the answer, then closed
//	status=TARGET:502       not processed, this status
//	after=TARGET:504        processed, this status
//	busy=TARGET:30s         not processed, 429 with Retry-After 30
//	redirect=TARGET:URL     not processed, 302 to the URL (takes no EVERY)
//	rubbish=TARGET          processed, 200 with an HTML page
//	huge=TARGET:10485760    processed, an answer with that many bytes of padding
//	blank=TARGET            processed, every text of the answer empty
//	omit=TARGET:FIELD       processed, FIELD left out
//	lag=1.5s                a fresh access token is unknown (401) for that long
//	skew=-40s               the Date header and the times in tokens are off
//	probability=0.2         CHANCE of all rules that give none
//
// # Admin endpoint
//
// Under /sandbox/, without login, bodies are JSON:
//
//	GET    stats          counts, windows, presentations of refresh tokens
//	DELETE stats          forgets them
//	GET    auth-log       every login and refresh with its outcome
//	GET    removals       audit trail of document removals
//	GET    outbox         the last 200 webhooks with their state
//	GET    settings       all settings; PATCH changes the ones given
//	PUT    faults         {"spec": "drop=refresh:3"}
//	POST   login          {}: somebody else logs the account in
//	POST   revoke         {}: every pair ends
//	POST   change         a change of data, see Change
//	POST   step           an open operation moves on
//	GET    share-tokens   ready tokens; POST {"kind","scenario","customer"} issues one
//	GET    verify/ID      the page behind a compliance link; POST hands in what is asked
package sandbox
