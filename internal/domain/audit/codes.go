package audit

import (
	"opdeck/api"
	"opdeck/api/endpoint"
)

// Names of events that this package writes by itself; acts have the names of
// their kinds. Events whose name ends in .denied, .failed, .refused or .quarantined,
// and "denied" itself, are only counted when they come too often.
const (
	EventStart     = "audit.start"     // a process began to keep the trail
	EventStop      = "audit.stop"      // it ended in order
	EventRead      = "audit.read"      // somebody read the trail
	EventExport    = "audit.export"    // somebody exported it
	EventEvidence  = "audit.extract"   // somebody exported the records of one object
	EventClock     = "clock.step"      // the clock went back
	EventTamper    = "audit.tampered"  // the trail is not what a checkpoint says
	EventUncovered = "audit.uncovered" // a checkpoint was missing from the checkpoint file
	EventDenied    = "denied"
)

// Names of events that other packages note, so that they have stable codes.
const (
	EventConsoleOpen  = "console.open" // a person opened a console, locally or over SSH
	EventConsoleClose = "console.close"
	EventLoginRefused = "ssh.refused"       // a connection that was not let in
	EventReload       = "config.reload"     // config or keys were read again
	EventQuarantine   = "hook.quarantined"  // a webhook that failed its check
	EventReveal       = "reveal"            // masked values were shown
	EventTakeAway     = "export"            // operations or documents were exported or copied
	EventDownload     = "document.download" // a document's content was saved or handed out
	EventReplay       = "event.replay"      // a stored webhook event was sent to another address
	EventForward      = "event.forward"     // webhook events are sent on to another address
	EventLendBegan    = "lend.began"        // a script began to use the session
	EventLent         = "lend.calls"        // what it called since the last such record
	EventLendDenied   = "lend.denied"       // a request of nobody who may
)

// numbers are the stable numbers of events that are no acts. A number is never used again for
// another event.
var numbers = map[string]string{
	"approval.requested": "501", "approval.approved": "502", "approval.denied": "503", "approval.spent": "504",
	"approval.void": "505", "approval.lapsed": "506", "approval.refused": "507",
	EventStart: "801", EventStop: "802", EventRead: "803", EventExport: "804", EventEvidence: "805", EventClock: "806",
	EventTamper: "807", EventUncovered: "808",
	EventDenied: "901", EventLoginRefused: "902", EventQuarantine: "903", EventLendDenied: "904",
	EventConsoleOpen: "601", EventConsoleClose: "602", EventReload: "603", EventLendBegan: "611", EventLent: "612",
	EventReveal: "701", EventTakeAway: "702", EventReplay: "703", EventForward: "704", EventDownload: "705",
}

// Code is the stable number of an event; empty for one without.
func Code(event string) string {
	if n := numbers[event]; n != "" {
		return n
	}
	return endpoint.Number(api.ActKind(event))
}

// code is the stable code of a record: OP, the number of the event (000 for one
// without), and a letter: I intent, S success, D denied, F failed, U unknown,
// N note.
func code(event string, phase Phase, res Result) string {
	n := Code(event)
	if n == "" {
		n = "000"
	}
	return "OP" + n + letter(phase, res)
}

func letter(phase Phase, res Result) string {
	switch {
	case phase == PhaseIntent:
		return "I"
	case phase == PhaseNote:
		return "N"
	case res == ResultOK:
		return "S"
	case res == ResultDenied:
		return "D"
	case res == ResultFailed:
		return "F"
	case res == ResultNotSeen:
		return "L"
	}
	return "U"
}
