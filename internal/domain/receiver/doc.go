// Package receiver receives the service's webhooks, over HTTP or by hand, and stores them in an inbox before it
// acknowledges them.
//
// The order is fixed: method and path, limits, the raw body, authentication of its bytes, decoding, durable storage,
// and only then 200. Everything else happens afterwards: listeners for new rows are notified and can never delay the
// answer. If a delivery cannot be stored, the answer is 503, and the sender retries; if it cannot be decoded, it is
// stored unchanged, with the reason.
//
// The service documents neither retries nor order. So a repeated hook_id is one event, the same hook_id with another
// body is a conflict that is stored and shown, and the inbox is ordered by arrival.
package receiver
