package act

import (
	"opdeck/api"
	"opdeck/api/limit"
)

func args(names ...string) []Arg {
	out := make([]Arg, len(names))
	for i, n := range names {
		out[i].Name = n
	}
	return out
}

var operationDocument = args("OPID", "DOCID")

// The acts that change something at the service, and those about the session and about events that are sent on.
var (
	DocumentRemove = declare(&writes, Act{Name: "document.remove", Aliases: []string{"rm"}, Effect: Write, Sends: []api.ActKind{api.ActRemoveDocument}, Ask: Typed, Costs: cost(limit.Billing, 2),
		Args: operationDocument, Short: "Take a document off an operation (it can be put back)",
		Place: "documents", Key: Key{Press: "x", Hint: "remove", Help: "remove the document (asks)"},
		Words: Question{Title: "Remove document", Verb: "Remove", Ask: "Remove {item} from operation {id}?",
			Risk: "Only the link goes; the document can be put back.", Done: "Removed {item}.", Declined: "Not removed.",
			Consequence: "Takes the document off the operation. The document itself stays in the customer's store and can be attached again."}})
	DocumentRestore = declare(&writes, Act{Name: "document.restore", Aliases: []string{"put back", "undo"}, Effect: Write, Sends: []api.ActKind{api.ActAttachDocument}, Ask: YesNo, Costs: cost(limit.Billing, 2),
		Args: operationDocument, Short: "Put a removed document back",
		Place: "documents", Key: Key{Press: "z", Hint: "put back", Help: "put back the document removed last (asks)"},
		Words: Question{Title: "Put back document", Verb: "Put back", Ask: "Put {item} back on operation {id}?", Done: "Put back {item}.", Declined: "Not put back."}})
	DocumentAttach = declare(&writes, Act{Name: "document.attach", Effect: Write, Sends: []api.ActKind{api.ActAttachDocument}, Ask: YesNo, Costs: cost(limit.Billing, 2),
		Args: operationDocument, Short: "Attach an uploaded document to an operation",
		Place: "documents", Key: Key{Press: "a", Hint: "attach", Help: "attach from the customer's list, one customer call (asks)"},
		Words: Question{Title: "Attach document", Verb: "Attach", Ask: "Attach {item} to operation {id}?", Done: "Attached {item}.", Declined: "Not attached.",
			Consequence: "Attaches the document to the operation. One that is locked there cannot be taken off again."}})
	DocumentUpload = declare(&writes, Act{Name: "document.upload", Effect: Write, Sends: []api.ActKind{api.ActUploadDocument}, Ask: YesNo, Costs: cost(limit.Customer, 1),
		Args: []Arg{{Name: "FILE", File: true}}, Short: "Upload a file to a customer's documents (- is standard input)",
		Place: "documents", Key: Key{Press: "u", Hint: "upload", Help: "upload a file and attach it (asks)"},
		Words: Question{Title: "Upload document", Verb: "Upload", Ask: "Upload {item} for customer {id}?", Done: "Uploaded {item}.", Declined: "Not uploaded.",
			Consequence: "Puts a new file into the customer's store. It is attached to nothing by this."}})
	DocumentReplace = declare(&writes, Act{Name: "document.replace", Effect: Write, Sends: []api.ActKind{api.ActRemoveDocument, api.ActUploadDocument, api.ActAttachDocument}, Ask: Typed,
		Costs: map[limit.Class]int{limit.Billing: 3, limit.Customer: 1}, Args: []Arg{{Name: "OPID"}, {Name: "DOCID"}, {Name: "FILE", File: true}},
		Short: "Replace a document by a file (- is standard input): remove, upload, attach as one job",
		Place: "documents", Key: Key{Press: "R", Hint: "replace", Help: "replace the document: remove, upload, attach (asks)"},
		Words: Question{Title: "Replace document", Verb: "Replace", Ask: "Replace {item} on operation {id}?",
			Risk: "Between removal and attaching the operation is without this document.", Done: "Replaced {item}.", Declined: "Not replaced."}})
	DocumentResume = declare(&writes, Act{Name: "document.resume", Effect: Write, Sends: []api.ActKind{api.ActRemoveDocument, api.ActUploadDocument, api.ActAttachDocument}, Ask: YesNo, Bare: api.MayRead,
		Costs: cost(limit.Billing, 1), Args: []Arg{{Name: "JOB", Optional: true}}, Short: "List unfinished replacements, or continue one",
		Words:   Question{Title: "Continue replacement", Verb: "Continue", Ask: "Continue the replacement of {item} on operation {id}?", Done: "Replaced {item}.", Declined: "Not replaced."},
		Without: map[Surface]string{Screen: "R on the document continues its replacement"}})
	CustomerDeleteFile = declare(&writes, Act{Name: "customer.delete-file", Effect: Write, Sends: []api.ActKind{api.ActDeleteFile}, Ask: Typed, Costs: cost(limit.Customer, 2),
		Args: args("CUID", "FILEID"), Short: "Delete a file from a customer's store, with its content, for good",
		Place: "files", Key: Key{Press: "x", Hint: "delete", Help: "delete the file for good (asks)"},
		Words: Question{Title: "Delete file", Verb: "Delete", Ask: "Delete {item} of customer {id}?",
			Risk: "The file and its content are deleted for good; nothing brings them back.", Done: "Deleted {item}.", Declined: "Not deleted.",
			Consequence: "Deletes the file with its content from the customer's store. Nothing brings it back."}})
	ComplianceShare = declare(&writes, Act{Name: "compliance.share", Effect: Write, Sends: []api.ActKind{api.ActShare}, Ask: Typed, Costs: cost(limit.Customer, 1),
		Args: args("CUID"), Short: "Apply a share token of the verification provider",
		Place: "compliance", Key: Key{Press: "S", Hint: "share", Help: "apply a share token (asks)"},
		Words: Question{Title: "Share verified data", Verb: "Share", Ask: "Present this token for {item}?",
			Risk: "Once applied, the customer cannot be shared again.", Done: "Applied.", Declined: "Not applied.",
			Consequence: "Transfers verified data with a single-use token. Once applied it cannot be repeated or undone for this customer."}})
	ComplianceLink = declare(&writes, Act{Name: "compliance.link", Effect: Write, Sends: []api.ActKind{api.ActLink}, Ask: YesNo, Costs: cost(limit.Customer, 1),
		Args: args("CUID"), Short: "Make a short-lived, single-use verification link",
		Place: "compliance", Key: Key{Press: "l", Hint: "link", Help: "make a short-lived verification link (asks)"},
		Words: Question{Title: "Verification link", Verb: "Make a link", Ask: "Make a verification link for {item}?", Risk: "A link works once.", Done: "The link works once.",
			Consequence: "Makes a single-use link to the customer's verification form."}})
	ComplianceFinalize = declare(&writes, Act{Name: "compliance.finalize", Effect: Write, Sends: []api.ActKind{api.ActFinalize}, Ask: Typed, Costs: cost(limit.Customer, 1),
		Args: args("CUID"), Short: "Submit the customer's application for review",
		Place: "compliance", Key: Key{Press: "f", Hint: "finalize", Help: "finalize the application (asks)"},
		Words: Question{Title: "Finalize application", Verb: "Finalize", Ask: "Submit the application of {item} for review?",
			Risk: "A submitted application cannot be taken back from here.", Done: "Finalized.", Declined: "Not finalized.", Consequence: "Submits the customer's application as it stands."}})
	CustomerSetApplication = declare(&writes, Act{Name: "customer.set-application", Effect: Write, Sends: []api.ActKind{api.ActSetApplication}, Ask: Typed, Costs: cost(limit.Customer, 1),
		Args: []Arg{{Name: "CUID"}, {Name: "FILE", File: true}}, Short: "Replace a customer's application by a file (- is standard input; soon deprecated by the service)",
		Place: "compliance", Key: Key{Press: "A", Hint: "set application", Help: "set the application (asks)"},
		Words: Question{Title: "Set application", Verb: "Set", Ask: "Replace the application of customer {id}?", Risk: "What is sent overwrites the application's fields.", Done: "Set.", Declined: "Not set.",
			Consequence: "Overwrites the customer's application with the fields below."}})
	HookSet = declare(&writes, Act{Name: "hook.set", Effect: Write, Sends: []api.ActKind{api.ActSetHooks}, Ask: Typed, Costs: cost(limit.General, 1),
		Short: "Change the service's webhook settings; what no flag names stays",
		Place: "hooks", Key: Key{Press: "enter", Hint: "change", Help: "change the service's webhook settings (asks)"},
		Words: Question{Title: "Webhook settings", Verb: "Change", Ask: "Change the service's webhook settings?", Risk: "They hold for everybody who uses this account; with a wrong address or secret no receiver gets events.", Done: "Changed.", Declined: "Not changed.",
			Consequence: "Changes where the service sends its webhooks, and the secret they are signed with, for everybody."}})

	SessionRefresh = declare(&writes, Act{Name: "session.refresh", Aliases: []string{"renew"}, Effect: Session, Sends: []api.ActKind{api.ActSessionRefresh}, Ask: Typed, Costs: cost(limit.Refresh, 1),
		Short: "Refresh the token pair now; every other holder's pair ends",
		Place: "session", Key: Key{Press: "F", Hint: "refresh now", Help: "refresh the token pair now (asks); every other holder's pair ends"},
		Words: Question{Title: "Refresh session", Verb: "Refresh", Ask: "Refresh the token pair now?", Risk: "Costs the one refresh that is recommended per minute. Every client of this account outside opdeck loses its session.", Done: "Refreshed.", Declined: "Not refreshed."}})
	SessionLogin = declare(&writes, Act{Name: "session.login", Aliases: []string{"login"}, Effect: Session, Sends: []api.ActKind{api.ActSessionLogin}, Ask: Typed, Costs: cost(limit.Login, 1),
		Short: "Log in again; every other holder's session ends",
		Place: "session", Key: Key{Press: "L", Hint: "log in", Help: "log in again (asks); every other holder's session ends"},
		Words: Question{Title: "Log in again", Verb: "Log in", Ask: "Log in again?", Risk: "Costs one of six logins recommended per minute. Every client of this account outside opdeck loses its session.", Done: "Logged in.", Declined: "Not logged in."}})
	SessionReset = declare(&writes, Act{Name: "session.reset", Effect: Session, Sends: []api.ActKind{api.ActSessionReset}, Ask: Typed,
		Short: "Forget a session in doubt; the next call logs in",
		Place: "session", Key: Key{Press: "X", Hint: "reset", Help: "forget a session in doubt (asks); the next call logs in"},
		Words: Question{Title: "Reset session", Verb: "Reset", Ask: "Forget the session and what blocks it?", Risk: "Sends nothing now: the stored token pair is erased, refused passwords are forgiven, and the next call logs in.", Done: "Forgotten.", Declined: "Not forgotten."}})

	ApprovalApprove = declare(&writes, Act{Name: "approval.approve", Effect: Write, Ask: Typed, Need: api.MayApprove, Event: "approval.approved", Args: args("ID"), Short: "Approve another person's write",
		Place: "approvals", Key: Key{Press: "P", Hint: "approve", Help: "approve this write (asks)"},
		Words: Question{Title: "Approve", Verb: "Approve", Ask: "Approve this write?", Risk: "The approval is good for one use and cannot be taken back.", Done: "Approved.", Declined: "Not approved."}})
	ApprovalDeny = declare(&writes, Act{Name: "approval.deny", Effect: Write, Ask: YesNo, Need: api.MayApprove, Event: "approval.denied", Args: args("ID"), Short: "Deny another person's write",
		Place: "approvals", Key: Key{Press: "N", Hint: "deny", Help: "deny this write (asks)"},
		Words: Question{Title: "Deny", Verb: "Deny", Ask: "Deny this write?", Done: "Denied.", Declined: "Not denied."}})
	EventReplay = declare(&writes, Act{Name: "event.replay", Effect: Send, Ask: YesNo, Need: api.MayHooks, With: map[string]string{"to": string(api.MayExport)}, Event: "-", Args: args("HOOKID"),
		Short: "Send one stored event again, to an address or through our own receiver",
		Place: "events", Key: Key{Press: "w", Hint: "replay", Help: "send the event again to a URL (asks)"},
		Without: map[Surface]string{Remote: "sends to an address of the caller's choice"},
		Words:   Question{Title: "Replay event", Verb: "Send", Ask: "Send event {id} again?", Done: "Sent.", Declined: "Not sent."}})
	EventForward = declare(&writes, Act{Name: "event.forward", Effect: Send, Need: api.MayExport, Event: "-", Short: "Send each new event on to an address, until interrupted", Without: map[Surface]string{
		Screen: "runs until interrupted", Remote: "sends to an address of the caller's choice"}})
)
