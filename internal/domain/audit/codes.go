package audit

import (
	"opdeck/api"
	"opdeck/api/endpoint"
)

// Names of this package's own events; acts have the names of their kinds. Frequent events whose name ends in .denied,
// .failed, .refused or .quarantined, and "denied" itself, are only counted.
const (
	EventStart     = "audit.start"     // a process started writing the trail
	EventStop      = "audit.stop"      // it stopped in order
	EventRead      = "audit.read"      // a person read the trail
	EventExport    = "audit.export"    // a person exported it
	EventClock     = "clock.step"      // the clock went back
	EventTamper    = "audit.tampered"  // the trail contradicts a checkpoint
	EventUncovered = "audit.uncovered" // a checkpoint was missing from the checkpoint file
	EventKey       = "audit.key"       // a person made a key, though the trail had begun
	EventRestored  = "audit.restored"  // a person said that a backup was restored
	EventBackup    = "backup"          // a person took a snapshot of the store
	EventDenied    = "denied"
)

// Names of events of other packages, so that they have stable codes.
const (
	EventConsoleOpen  = "console.open" // a person opened a console, locally or over SSH
	EventConsoleClose = "console.close"
	EventLoginRefused = "ssh.refused"       // a refused connection
	EventReload       = "config.reload"     // config or keys were reloaded
	EventQuarantine   = "hook.quarantined"  // a webhook that failed its check
	EventReveal       = "reveal"            // masked values were revealed
	EventTakeAway     = "export"            // operations or documents were exported or copied
	EventDownload     = "document.download" // a document's content was saved or passed to a program
	EventReplay       = "event.replay"      // a stored webhook event was sent to another address
	EventForward      = "event.forward"     // webhook events are forwarded to another address
	EventLendBegan    = "lend.began"        // a script began to use the session
	EventLent         = "lend.calls"        // its calls since the last such record
	EventLendDenied   = "lend.denied"       // a request without permission

	EventNotifyTested = "notify.tested" // a person sent a test notice
)

// numbers are the stable numbers of events that are not acts. A number is never reused.
var numbers = map[string]string{
	"approval.requested": "501", "approval.approved": "502", "approval.denied": "503", "approval.spent": "504",
	"approval.void": "505", "approval.lapsed": "506", "approval.refused": "507",
	EventStart: "801", EventStop: "802", EventRead: "803", EventExport: "804", EventClock: "806",
	EventTamper: "807", EventUncovered: "808", EventKey: "809", EventRestored: "810", EventBackup: "811",
	EventDenied: "901", EventLoginRefused: "902", EventQuarantine: "903", EventLendDenied: "904",
	EventConsoleOpen: "601", EventConsoleClose: "602", EventReload: "603", EventLendBegan: "611", EventLent: "612",
	EventNotifyTested: "621", string(api.ActAddNote): "631",
	EventReveal: "701", EventTakeAway: "702", EventReplay: "703", EventForward: "704", EventDownload: "705",
	"audit.extract": "805", "capsule": "706", "notify.silenced": "622", // retired; older trails have them
}

// Code is the stable number of an event; "" for none.
func Code(event string) string {
	if n := numbers[event]; n != "" {
		return n
	}
	return endpoint.Number(api.ActKind(event))
}

// code is the stable code of a record: OP, the number of the event (000 for none), and a letter: I intent, S success,
// D denied, F failed, V wanted state seen, U unknown, L not seen, N note.
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
	case res == ResultSeen:
		return "V"
	case res == ResultNotSeen:
		return "L"
	}
	return "U"
}
