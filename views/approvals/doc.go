// Package approvals is the screen of writes that wait for a second person: the requester,
// the exact request, and the keys that approve or deny it after a question.
package approvals
