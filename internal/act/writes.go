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

// loses says whose session a login or a refresh ends.
const loses = "Programs that log in without opdeck lose their session; opdeck's processes keep theirs."

var operationDocument = args("OPID", "DOCID")

// The acts with an effect at the service, on the session, or on addresses that events are sent to.
var (
	DocumentRemove = declare(&writes, Act{Name: "document.remove", Aliases: []string{"rm"}, Effect: Write,
		Ask: Typed, Costs: cost(limit.Billing, 2),
		Args: operationDocument, Short: "Remove a document from an operation (undo: document restore)",
		Place: "documents", Key: Key{Press: "x", Hint: "remove", Help: "remove the document (asks)"},
		Words: Question{Title: "Remove document", Verb: "Remove", Ask: "Remove {item} from operation {id}?",
			Risk:     "Only detaches the document; the file is kept. Undo {with document.restore}.",
			Declined: "Not removed.", Of: "document id",
			Consequence: "Only detaches the document; the file is kept. It can be restored."}})
	DocumentRestore = declare(&writes, Act{Name: "document.restore", Aliases: []string{"restore", "undo"}, Effect: Write,
		Sends: []api.ActKind{api.ActAttachDocument}, Ask: YesNo, Costs: cost(limit.Billing, 2),
		Args: operationDocument, Short: "Restore a removed document",
		Place: "documents", Key: Key{Press: "z", Hint: "restore", Help: "restore the last removed document (asks)"},
		Words: Question{Title: "Restore document", Verb: "Restore", Ask: "Restore {item} on operation {id}?",
			Declined: "Not restored.", Of: "document id"}})
	DocumentAttach = declare(&writes, Act{Name: "document.attach", Effect: Write,
		Ask: YesNo, Costs: cost(limit.Billing, 2),
		Args: operationDocument, Short: "Attach a customer's file to an operation",
		Place: "documents",
		Key:   Key{Press: "a", Hint: "attach", Help: "attach one of the customer's files; costs one customer call (asks)"},
		Words: Question{Title: "Attach file", Verb: "Attach", Ask: "Attach {item} to operation {id}?",
			Declined: "Not attached.", Of: "file id",
			Consequence: "Attaches the file to the operation. A document that is locked there cannot be removed again."}})
	DocumentUpload = declare(&writes, Act{Name: "document.upload", Effect: Write,
		Ask: YesNo, Costs: cost(limit.Customer, 1),
		Args: []Arg{{Name: "FILE", File: true}}, Short: "Upload a file to a customer's store (- is standard input)",
		Place: "documents", Key: Key{Press: "u", Hint: "upload", Help: "upload a file and attach it (asks)"},
		Words: Question{Title: "Upload file", Verb: "Upload", Ask: "Upload {item} for customer {id}?",
			Declined: "Not uploaded.", Of: "customer id",
			Consequence: "Puts a new file into the customer's store, without attaching it."}})
	DocumentReplace = declare(&writes, Act{Name: "document.replace", Effect: Write,
		Sends: []api.ActKind{api.ActRemoveDocument, api.ActUploadDocument, api.ActAttachDocument}, Ask: Typed,
		Costs: map[limit.Class]int{limit.Billing: 4, limit.Customer: 1},
		Args:  []Arg{{Name: "OPID"}, {Name: "DOCID"}, {Name: "FILE", File: true}},
		Short: "Replace a document with a file (- is standard input): remove, upload and attach as one job",
		Place: "documents",
		Key:   Key{Press: "R", Hint: "replace", Help: "replace the document: remove, upload, attach (asks)"},
		Words: Question{Title: "Replace document", Verb: "Replace", Ask: "Replace {item} on operation {id}?",
			Risk:     "Between the removal and the new attachment, the operation has neither document.",
			Declined: "Not replaced.", Of: "document id"}})
	DocumentResume = declare(&writes, Act{Name: "document.resume", Effect: Write,
		Sends: []api.ActKind{api.ActRemoveDocument, api.ActUploadDocument, api.ActAttachDocument}, Ask: YesNo,
		Bare:  api.MayRead,
		Costs: cost(limit.Billing, 1), Args: []Arg{{Name: "JOB", Optional: true}},
		Short: "List unfinished replacements, or resume one",
		Words: Question{Title: "Resume replacement", Verb: "Resume", Of: "document id",
			Ask: "Resume the replacement of {item} on operation {id}?", Declined: "Not replaced."},
		Without: map[Surface]string{Screen: "replacing the document again resumes its replacement"}})
	CustomerDeleteFile = declare(&writes, Act{Name: "customer.delete-file", Effect: Write,
		Ask: Typed, Costs: cost(limit.Customer, 2),
		Args: args("CUID", "FILEID"), Short: "Permanently delete a file and its content from a customer's store",
		Place: "files", Key: Key{Press: "x", Hint: "delete", Help: "delete the file permanently (asks)"},
		Words: Question{Title: "Delete file", Verb: "Delete", Ask: "Delete {item} of customer {id}?",
			Risk: "The file and its content are deleted for good. This cannot be undone.", Destroys: true,
			Declined: "Not deleted.", Of: "file id",
			Consequence: "The file and its content are deleted for good. This cannot be undone."}})
	ComplianceShare = declare(&writes, Act{Name: "compliance.share", Effect: Write,
		Ask: Typed, Costs: cost(limit.Customer, 1),
		Args: args("CUID"), Short: "Apply a share token of the verification provider",
		Place: "compliance", Key: Key{Press: "S", Hint: "share", Help: "apply a share token (asks)"},
		Words: Question{Title: "Apply share token", Verb: "Apply", Ask: "Apply this share token to {item}?",
			Risk: "Each customer can use only one share token.", Declined: "Not applied.", Of: "customer id",
			Consequence: "Applies a share token, which transfers the customer's verified data. It cannot be repeated or " +
				"undone for this customer."}})
	ComplianceLink = declare(&writes, Act{Name: "compliance.link", Effect: Write,
		Ask: YesNo, Costs: cost(limit.Customer, 1),
		Args: args("CUID"), Short: "Create a short-lived, single-use verification link",
		Place: "compliance", Key: Key{Press: "l", Hint: "link", Help: "create a short-lived verification link (asks)"},
		Words: Question{Title: "Verification link", Verb: "Create a link", Ask: "Create a verification link for {item}?",
			Risk: "Each link works once.", Of: "customer id",
			Consequence: "Creates a single-use link to the customer's verification form."}})
	ComplianceFinalize = declare(&writes, Act{Name: "compliance.finalize", Effect: Write,
		Ask: Typed, Costs: cost(limit.Customer, 1),
		Args: args("CUID"), Short: "Submit the customer's application for review",
		Place: "compliance", Key: Key{Press: "f", Hint: "finalize", Help: "finalize the application (asks)"},
		Words: Question{Title: "Finalize application", Verb: "Finalize", Ask: "Submit the application of {item} for review?",
			Risk: "opdeck cannot withdraw a submitted application.", Declined: "Not finalized.", Of: "customer id",
			Consequence: "Submits the customer's application as it is now."}})
	CustomerSetApplication = declare(&writes, Act{Name: "customer.set-application", Effect: Write,
		Ask: Typed, Costs: cost(limit.Customer, 1),
		Args:  []Arg{{Name: "CUID"}, {Name: "FILE", File: true}},
		Short: "Replace a customer's application with a file (- is standard input; the service will deprecate this call)",
		Words: Question{Title: "Set application", Verb: "Set", Ask: "Replace the application of customer {id}?",
			Declined: "Not set.", Of: "customer id",
			Consequence: "Sends the application below as a whole: it replaces the customer's application."},
		Without: map[Surface]string{Screen: "takes a file; use the command"}})
	HookSet = declare(&writes, Act{Name: "hook.set", Effect: Write, Ask: Typed,
		Costs: cost(limit.General, 1),
		Short: "Change the service's webhook settings; settings without a flag do not change",
		Place: "hooks", Key: Key{Press: "enter", Hint: "change", Help: "change the service's webhook settings (asks)"},
		Words: Question{Title: "Webhook settings", Verb: "Change", Ask: "Change the service's webhook settings?",
			Risk: "They apply to everyone who uses this machine account. With a wrong address or secret, no receiver gets " +
				"events.", Declined: "Not changed.", Of: "settings",
			Consequence: "Changes where the service sends webhooks and the secret that signs them, for everyone."}})

	SessionRefresh = declare(&writes, Act{Name: "session.refresh", Aliases: []string{"renew"}, Effect: Session,
		Ask: Typed, Costs: cost(limit.Refresh, 1),
		Short: "Refresh the tokens now; programs that log in without opdeck lose their session",
		Place: "session", Key: Key{Press: "Z", Hint: "refresh tokens",
			Help: "refresh the tokens now (asks); programs that log in without opdeck lose their session"},
		Words: Question{Title: "Refresh session", Verb: "Refresh", Ask: "Refresh the tokens now?",
			Risk:     loses + " The service recommends one refresh per minute.",
			Declined: "Not refreshed.", Of: "machine account"}})
	SessionLogin = declare(&writes, Act{Name: "session.login", Aliases: []string{"login"}, Effect: Session,
		Ask: Typed, Costs: cost(limit.Login, 1),
		Short: "Log in again; programs that log in without opdeck lose their session",
		Place: "session",
		Key: Key{Press: "I", Hint: "log in again", Help: "log in again (asks); programs that log in without opdeck lose " +
			"their session"},
		Words: Question{Title: "Log in again", Verb: "Log in", Ask: "Log in again?",
			Risk:     loses + " The service recommends at most six logins per minute.",
			Declined: "Not logged in.", Of: "machine account"}})
	SessionReset = declare(&writes, Act{Name: "session.reset", Effect: Session,
		Ask:   Typed,
		Short: "Erase the stored session; the next call logs in",
		Place: "session", Key: Key{Press: "X", Hint: "reset", Help: "erase the stored session (asks); the next call logs in"},
		Words: Question{Title: "Reset session", Verb: "Reset", Ask: "Erase the stored session and unblock logins?",
			Risk: "Sends nothing now. The stored tokens are erased, password failures are cleared, and the next call logs " +
				"in.", Declined: "Not reset.", Of: "machine account"}})

	ApprovalApprove = declare(&writes, Act{Name: "approval.approve", Effect: Write, Ask: Typed, Need: api.MayApprove,
		Event: "approval.approved", Args: args("ID"), Short: "Approve another person's write",
		Place: "approvals", Key: Key{Press: "+", Hint: "approve", Help: "approve this write (asks)"},
		Words: Question{Title: "Approve", Verb: "Approve", Ask: "Approve this write?",
			Risk: "The approval is valid for one use and cannot be withdrawn.", Declined: "Not approved.", Of: "request"}})
	ApprovalDeny = declare(&writes, Act{Name: "approval.deny", Effect: Write, Ask: YesNo, Need: api.MayApprove,
		Event: "approval.denied", Args: args("ID"), Short: "Deny another person's write",
		Place: "approvals", Key: Key{Press: "-", Hint: "deny", Help: "deny this write (asks)"},
		Words: Question{Title: "Deny", Verb: "Deny", Ask: "Deny this write?", Declined: "Not denied.", Of: "request"}})
	EventReplay = declare(&writes, Act{Name: "event.replay", Effect: Local, Ask: YesNo, Need: api.MayHooks,
		Args: args("HOOKID"), Short: "Send a stored event through opdeck's own receiver again",
		Place: "events", Key: Key{Press: "u", Hint: "replay", Help: "process the event again (asks)"},
		Words: Question{Title: "Replay event", Verb: "Process", Ask: "Process event {id} again?",
			Declined: "Not processed.", Of: "event id"}})
)
