// Package audittrail is the screen of the audit trail: who did what, with which
// result, whether the chain of records holds, and what has no known outcome.
//
// Each question for the newest records is itself recorded by the trail, so this
// screen asks only when a person asks: at its start, for a filter, for a reload.
package audittrail
