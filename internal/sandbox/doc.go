// Package sandbox is the built-in service: the payment operations, compliance
// and webhook service of the specification as a real HTTP server.
package sandbox
