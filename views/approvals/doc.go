// Package approvals is the screen of writes waiting for a second person: who
// asks, what exactly would be sent, and approve or deny behind the one question.
package approvals
