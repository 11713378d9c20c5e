// Package receiver takes the service's webhooks in, over HTTP or by hand, and
// keeps them in an inbox before it says so.
//
// The order of work is fixed: method and path, limits, the raw body,
// authentication of its bytes, reading, durable storing, and only then 200.
// Everything else happens afterwards: who waits for new rows is notified and can
// never delay the answer. What cannot be stored is answered 503, and its sender
// retries; what cannot be understood is stored as it came, with the reason.
//
// The service states neither retries nor order. So the same hook_id twice is
// one event, the same hook_id with another body is a conflict that is kept and
// shown, and the order of the inbox is that of arrival.
package receiver
