// Package audittrail is the screen of the audit trail: the acts of all people with their
// results, the check of the trail, and writes with an unknown outcome.
//
// The trail records each read of it, so this screen reads only at its start, after a
// confirmed filter, and on reload.
package audittrail
