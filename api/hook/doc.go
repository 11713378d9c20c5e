// Package hook decodes, verifies and signs the service's webhooks (spec, Events).
//
// Decode turns the bytes of a delivery into an Envelope or a typed error; it never guesses, and the caller keeps the
// bytes in either case. An Event is the part that an index of operations can use. A Verifier checks the raw bytes
// before anything decodes them; a Signer signs deliveries for a Verifier. Pairs and Meanings learn the numeric codes
// of operations, from evidence only.
//
// The spec does not define signing, retries and order. So every event says how it was authenticated and whether the
// authentication covers its body (bound); an unbound event is a hint to read the object again, not a fact.
package hook
