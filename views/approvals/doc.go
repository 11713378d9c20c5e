// Package approvals is the screen of writes that wait for a second person: who
// asks, what exactly would be sent, and approve or deny behind the one question.
package approvals
