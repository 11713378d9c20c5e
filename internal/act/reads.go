package act

import (
	"opdeck/api"
	"opdeck/api/limit"
)

func cost(class limit.Class, calls int) map[limit.Class]int { return map[limit.Class]int{class: calls} }

const (
	ofHost = "is about this host"
	serves = "serves or listens until interrupted"
)

func onlyCommand(why string) map[Surface]string {
	return map[Surface]string{Screen: why, Remote: why}
}

// keepers are the roles for server operations: over SSH only they run commands about the server.
var keepers = []api.Role{api.OnCall, api.Admin}

// The acts without effect at the service.
var (
	OperationList = declare(&reads, Act{Name: "operation.list", Reveals: true, Aliases: []string{"ops"}, Need: api.MayRead,
		Short: "Operations, filtered and sorted", Place: "operations",
		Key: Key{Press: "1", Hint: "operations", Help: "Operations", Extra: true}})
	OperationGet = declare(&reads, Act{Name: "operation.get", Reveals: true, Need: api.MayRead,
		Costs: cost(limit.Billing, 1),
		Args:  []Arg{{Name: "OPID", Many: true}},
		Short: "One or more operations as the service sent them (- reads ids from standard input)",
		Place: "operation", Key: Key{Press: "2", Hint: "operation", Help: "Operation", Extra: true}})
	OperationTree = declare(&reads, Act{Name: "operation.tree", Reveals: true, Need: api.MayRead,
		Costs: cost(limit.Billing, 1),
		Args:  args("OPID"), Short: "An operation with its parent and its child operations",
		Place: "operation", Key: Key{Press: "H", Hint: "tree", Help: "the parent and the child operations"}})
	OperationHistory = declare(&reads, Act{Name: "operation.history", Reveals: true, Need: api.MayRead, Args: args("OPID"),
		Short: "History of an operation: its states, webhooks and notes, with their changes",
		Place: "operation", Key: Key{Press: "h", Hint: "history", Help: "history: states, webhooks and notes, with " +
			"their changes"}})
	OperationTotals = declare(&reads, Act{Name: "operation.totals", Reveals: true, Need: api.MayRead,
		Short: "Exact totals of operations by group and currency",
		Place: "operations",
		Key: Key{Press: "T", Hint: "totals", Help: "totals by currency; " +
			"again: by status, type, customer, counterparty, day"}})
	OperationExport = declare(&reads, Act{Name: "operation.export", Reveals: true, Effect: TakeOut, Need: api.MayExport,
		Event: "export",
		Args:  []Arg{{Name: "FILE", File: true}}, Short: "Export operations from the index to a new file",
		Place: "operations", Key: Key{Press: "e", Hint: "export", Help: "export the filtered rows", Extra: true}})
	OperationReport = declare(&reads, Act{Name: "operation.report", Aliases: []string{"report"}, Effect: TakeOut,
		Need: api.MayExport, Event: "export", Costs: cost(limit.Billing, 1), Args: []Arg{{Name: "FILE", File: true}},
		Short:   "Save the service's own report of operations (.xlsx) to a new file (- is standard output)",
		Without: map[Surface]string{Screen: "the report ignores the filter; use the command to save it"}})
	NoteAdd = declare(&reads, Act{Name: "note.add", Aliases: []string{"note"}, Effect: Local, Need: api.MayRead,
		Args:  []Arg{{Name: "OPID|CUID"}, {Name: "TEXT", Many: true}},
		Short: "Write a note for colleagues about an operation or a customer; it is never sent",
		Place: "operation", Key: Key{Press: "N", Hint: "note", Help: "write a note for colleagues; it is never sent",
			Extra: true}})
	NoteList = declare(&reads, Act{Name: "note.list", Aliases: []string{"notes"}, Reveals: true, Need: api.MayRead,
		Args:  []Arg{{Name: "OPID|CUID", Optional: true}},
		Short: "Notes about an operation or a customer, or the newest of all", Place: "operation"})
	DocumentList = declare(&reads, Act{Name: "document.list", Reveals: true, Need: api.MayRead,
		Costs: cost(limit.Billing, 1),
		Args:  args("OPID"), Short: "The documents of an operation",
		Place: "documents", Key: Key{Press: "3", Hint: "documents", Help: "Documents", Extra: true}})
	DocumentDownload = declare(&reads, Act{Name: "document.download", Effect: TakeOut, Need: api.MayExport,
		Costs: cost(limit.Customer, 1),
		Args:  []Arg{{Name: "CUID"}, {Name: "DOCID"}, {Name: "FILE", File: true, Optional: true}},
		Short: "Save the content of a customer's file (- is standard output)",
		Place: "documents", Key: Key{Press: "w", Hint: "save", Help: "save its content to a file of this host"}})
	CustomerList = declare(&reads, Act{Name: "customer.list", Reveals: true,
		Aliases: []string{"customers", "kyc customers", "kyc", "verify"}, Need: api.MayRead, Costs: cost(limit.Customer, 1),
		Short: "Customers: one page, or all that match a filter",
		Place: "operations", Key: Key{Press: "K", Hint: "customers", Help: "all customers, and who is waiting", Extra: true}})
	CustomerGet = declare(&reads, Act{Name: "customer.get", Reveals: true, Need: api.MayRead,
		Costs: cost(limit.Customer, 1),
		Args:  args("CUID"), Short: "One customer",
		Place: "compliance",
		Key:   Key{Press: "4", Hint: "compliance", Help: "Compliance: this customer, then all customers", Extra: true}})
	CustomerApplication = declare(&reads, Act{Name: "customer.application", Reveals: true, Need: api.MayRead,
		Costs: cost(limit.Customer, 1), Args: args("CUID"), Short: "A customer's application", Place: "compliance"})
	CustomerFiles = declare(&reads, Act{Name: "customer.files", Reveals: true, Aliases: []string{"customer delete-file"},
		Need: api.MayRead, Costs: cost(limit.Customer, 1), Args: args("CUID"), Short: "A customer's uploaded files, one page",
		Place: "compliance", Key: Key{Press: "F", Hint: "files", Help: "the customer's files: open, save, delete"}})
	AccountList = declare(&reads, Act{Name: "account.list", Reveals: true, Aliases: []string{"accounts"},
		Need:  api.MayRead,
		Costs: cost(limit.Account, 1), Short: "Accounts with their balances, one page",
		Place: "operations",
		Key:   Key{Press: "A", Hint: "accounts", Help: "accounts with their balances and holds", Extra: true}})
	AccountGet = declare(&reads, Act{Name: "account.get", Reveals: true, Need: api.MayRead, Costs: cost(limit.Account, 1),
		Args: args("ID"), Short: "One account: balance, hold, status, requisites",
		Place: "operation",
		Key:   Key{Press: "A", Hint: "account", Help: "the customer's account: balance, hold, status, requisites"}})
	CounterpartyList = declare(&reads, Act{Name: "counterparty.list", Reveals: true, Aliases: []string{"counterparties"},
		Need: api.MayRead, Costs: cost(limit.General, 1), Short: "Counterparties and the status of their accounts, one page",
		Place: "operations",
		Key:   Key{Press: "P", Hint: "counterparties", Help: "counterparties and the status of their accounts", Extra: true}})
	CounterpartyGet = declare(&reads, Act{Name: "counterparty.get", Reveals: true, Need: api.MayRead,
		Costs: cost(limit.General, 1),
		Args:  args("ID"), Short: "One counterparty with its accounts and their status",
		Place: "operation",
		Key:   Key{Press: "P", Hint: "counterparty", Help: "the counterparty: its accounts and their status"}})
	TariffLimits = declare(&reads, Act{Name: "tariff.limits", Need: api.MayRead, Costs: cost(limit.Billing, 1),
		Short: "The service's payment limits, one page",
		Place: "limits", Key: Key{Press: "$", Hint: "payment limits", Help: "the service's payment limits"}})
	TariffCommissions = declare(&reads, Act{Name: "tariff.commissions", Aliases: []string{"fees", "tariffs"},
		Need: api.MayRead, Costs: cost(limit.Billing, 1), Short: "The service's commissions, one page",
		Place: "limits", Key: Key{Press: "%", Hint: "commissions", Help: "the service's commissions"}})
	ComplianceJourney = declare(&reads, Act{Name: "compliance.journey", Reveals: true, Need: api.MayRead,
		Costs: cost(limit.Customer, 2),
		Args:  args("CUID"), Short: "A customer's verification: progress and next step", Place: "compliance"})
	SessionStatus = declare(&reads, Act{Name: "session.status", Need: api.MayRead,
		Short: "State, lifetimes and history of the session; costs no call",
		Place: "session", Key: Key{Press: "6", Hint: "session", Help: "Session", Extra: true}})
	SessionKeep = declare(&reads, Act{Name: "session.keep", Least: AContext, Need: api.MaySession,
		Short: "Keep the session alive until interrupted", Without: onlyCommand(serves)})
	SessionProxy = declare(&reads, Act{Name: "session.proxy", Least: AContext, Need: api.MayRead, Event: "lend.began",
		Short:   "Lend the session to scripts until interrupted: they call the service's paths without a token",
		Without: onlyCommand(serves)})
	SessionExec = declare(&reads, Act{Name: "session.exec", Least: AContext, Need: api.MayRead, Event: "lend.began",
		Args: []Arg{{Name: "CMD", Many: true}}, Short: "Start a command that may use the session",
		Without: onlyCommand("starts a command of this host")})
	Limits = declare(&reads, Act{Name: "limits", Need: api.MayRead,
		Short: "Calls used and left per endpoint class, all opdeck processes together; costs no call",
		Place: "limits", Key: Key{Press: "5", Hint: "limits", Help: "Limits", Extra: true}})
	IndexStatus = declare(&reads, Act{Name: "index.status", Need: api.MayRead,
		Short:   "Size and age of the index, and how long a full pass takes; costs no call",
		Without: onlyCommand("the header shows it")})
	IndexSync = declare(&reads, Act{Name: "index.sync", Need: api.MayRead, Costs: cost(limit.Billing, 1),
		Short: "Fetch new operations now; --wait reads everything", Without: onlyCommand("runs in the background")})
	IndexVerify = declare(&reads, Act{Name: "index.verify", Need: api.MayRead, Costs: cost(limit.Billing, 1),
		Short:   "Compare the index with the service and repair it; exit 1 when they differ",
		Without: onlyCommand("can take long: it waits for the call budget")})
	IndexRebuild = declare(&reads, Act{Name: "index.rebuild", Effect: Local, Ask: YesNo, Need: api.MaySession,
		Short: "Empty the index of this account and start again",
		Words: Question{Title: "Rebuild index", Verb: "Drop", Ask: "Remove all operations from the index?",
			Risk: "The sync then reads them again, which costs calls and time."},
		Without: onlyCommand(ofHost)})
	EventList = declare(&reads, Act{Name: "event.list", Reveals: true, Need: api.MayRead,
		Short: "Stored events, newest first",
		Place: "events", Key: Key{Press: "7", Hint: "events", Help: "Events", Extra: true}})
	EventShow = declare(&reads, Act{Name: "event.show", Reveals: true, Need: api.MayRead, Args: args("HOOKID"),
		Short: "One event with its body and its result", Place: "events"})
	EventTail = declare(&reads, Act{Name: "event.tail", Reveals: true, Aliases: []string{"tail"}, Need: api.MayRead,
		Place: "events", Key: Key{Press: "L", Hint: "follow", Help: "follow new events, or stop"},
		Without: map[Surface]string{Command: "event list has --follow", Remote: "event list has --follow"}})
	EventCodes = declare(&reads, Act{Name: "event.codes", Aliases: []string{"codes"}, Need: api.MayRead,
		Short: "Meanings of the numeric codes in webhooks",
		Place: "events", Key: Key{Press: "=", Hint: "codes", Help: "meanings of numeric codes"}})
	HookGet = declare(&reads, Act{Name: "hook.get", Aliases: []string{"hook", "hooks", "hook set"}, Need: api.MayRead,
		Costs: cost(limit.General, 1), Short: "The service's webhook settings; the secret is shown as dots",
		Place: "events", Key: Key{Press: "W", Hint: "settings", Help: "the service's webhook settings", Extra: true}})
	AuditList = declare(&reads, Act{Name: "audit.list", Need: api.MayAudit, Event: "audit.read",
		Short: "Records, newest first", Place: "audit", Key: Key{Press: "8", Hint: "audit", Help: "Audit", Extra: true}})
	AuditVerify = declare(&reads, Act{Name: "audit.verify", Least: AConfig, Need: api.MayAudit, Event: "-",
		Short: "Check that the trail is complete and unchanged",
		Args:  []Arg{{Name: "FILE", File: true, Optional: true, Many: true}},
		Place: "audit", Key: Key{Press: "V", Hint: "verify", Help: "check that the trail is complete and unchanged"}})
	AuditCheckpoint = declare(&reads, Act{Name: "audit.checkpoint", Least: AConfig, Need: api.MayAudit, Event: "-",
		Short:   "Sign the current end of the trail and print the checkpoint",
		Without: map[Surface]string{Screen: "a checkpoint belongs on another host; use the command"}})
	AuditExport = declare(&reads, Act{Name: "audit.export", Least: AConfig, Effect: TakeOut, Need: api.MayAuditOut,
		Args: []Arg{{Name: "FILE", File: true, Optional: true}}, Short: "Export the trail",
		Place: "audit", Key: Key{Press: "e", Hint: "export", Help: "export the trail", Extra: true}})
	AuditUnsettled = declare(&reads, Act{Name: "audit.unsettled", Need: api.MayAudit, Event: "-",
		Short: "Writes with an unknown outcome", Place: "audit"})
	AuditSettle = declare(&reads, Act{Name: "audit.settle", Effect: Local, Need: api.MayAudit, Args: args("REF"),
		Short:   "Close a write with an unknown outcome after you checked its object",
		Without: map[Surface]string{Screen: "needs a note; use the command"}})
	ApprovalList = declare(&reads, Act{Name: "approval.list", Aliases: []string{"approvals"}, Need: api.MayRead,
		Short: "Requests for approval, newest first",
		Place: "audit", Key: Key{Press: "Q", Hint: "approvals", Help: "writes waiting for a second person"}})
	ApprovalShow = declare(&reads, Act{Name: "approval.show", Need: api.MayRead, Args: args("ID"),
		Short: "One request for approval: what it sends, who asked, until when", Place: "approvals",
		Key: Key{Press: ".", Hint: "details", Help: "the whole request: what is sent, who asks, the digests"}})
	NotifyTest = declare(&reads, Act{Name: "notify.test", Least: AConfig, Effect: Local, Need: api.MaySession,
		Roles: keepers, Event: "notify.tested", Short: "Send a test notice now",
		Without: map[Surface]string{Screen: "tries the config of a host; use the command"}})
	Reveal = declare(&reads, Act{Name: "reveal", Effect: TakeOut, Need: api.MayReveal, Event: "reveal",
		Place: "everywhere", Key: Key{Press: "M", Hint: "reveal", Help: "reveal masked values for 30 s", Extra: true},
		Without: map[Surface]string{Command: "the commands that print records have --reveal",
			Remote: "the commands that print records have --reveal"}})

	Doctor = declare(&reads, Act{Name: "doctor", Aliases: []string{"health"}, Roles: keepers,
		Short: "Check each step from here to the service",
		Place: "session", Key: Key{Press: "D", Hint: "doctor", Help: "check name, TLS, login, clock, store and feed"}})
	Check = declare(&reads, Act{Name: "check", Least: AContext, Roles: keepers,
		Args:    []Arg{{Name: "PART", Optional: true, Many: true}},
		Short:   "One line for monitors: what is wrong, since when, and what to do (Nagios exit codes)",
		Without: map[Surface]string{Screen: "the page for the person on call shows the same verdict"}})
	Backup = declare(&reads, Act{Name: "backup", Least: AConfig, Effect: TakeOut, Need: api.MayAuditOut, Event: "backup",
		Args:    []Arg{{Name: "FILE", File: true}},
		Short:   "Save stores, keys, checkpoints and jobs to a sealed and verified file, while everything runs",
		Without: onlyCommand(ofHost)})
	Restore = declare(&reads, Act{Name: "restore", Least: AConfig, Effect: Local, Ask: Typed, Need: api.MayAuditOut,
		Event: "audit.restored", Args: []Arg{{Name: "FILE", File: true, Optional: true}},
		Short: "Replace the store with a snapshot of opdeck backup, or record a restore; --check only verifies it",
		Words: Question{Title: "Restore", Verb: "Restore", Ask: "Replace the store with this snapshot?",
			Risk:     "What was recorded since then is missing afterwards. The replaced files are kept.",
			Declined: "Not restored."},
		Without: onlyCommand(ofHost)})
	Migrate = declare(&reads, Act{Name: "migrate", Least: AConfig, Effect: Local, Ask: YesNo, Need: api.MayAuditOut,
		Short: "Update the store of an older version of opdeck, after a snapshot",
		Words: Question{Title: "Migrate", Verb: "Migrate", Ask: "Update the tables of the store?",
			Risk: "An older version of opdeck cannot use the store afterwards.", Declined: "Not updated."},
		Without: onlyCommand(ofHost)})
	ConfigInit = declare(&reads, Act{Name: "config.init", Effect: Local,
		Short: "Create a config file: asks, or takes flags", Without: onlyCommand(ofHost)})
	ConfigCheck = declare(&reads, Act{Name: "config.check", Args: []Arg{{Name: "FILE", File: true, Optional: true}},
		Short: "Report each mistake with file, line and key", Without: onlyCommand(ofHost)})
	ConfigShow = declare(&reads, Act{Name: "config.show", Short: "Show the config with its defaults, without secrets",
		Without: onlyCommand(ofHost)})
	ConfigPath = declare(&reads, Act{Name: "config.path",
		Short: "Show where opdeck looks for the config file and the state folder", Without: onlyCommand(ofHost)})
	Serve = declare(&reads, Act{Name: "serve", Least: AConfig,
		Short:   "Serve the console over SSH, receive webhooks, keep the session alive, publish metrics",
		Without: onlyCommand(serves)})
	Sandbox = declare(&reads, Act{Name: "sandbox", Short: "Run the built-in service as a separate server",
		Without: onlyCommand(serves)})
	Schema = declare(&reads, Act{Name: "schema",
		Short:   "All commands, flags, arguments, JSON fields and exit codes as JSON",
		Without: map[Surface]string{Screen: "for programs"}})
	Version = declare(&reads, Act{Name: "version", Short: "Version, commit and build",
		Without: map[Surface]string{Screen: "the help names it"}})
	Completion = declare(&reads, Act{Name: "completion", Args: args("SHELL"),
		Short: "Completion script for bash, zsh, fish or powershell", Without: onlyCommand("for a shell of this host")})
	Man = declare(&reads, Act{Name: "man", Args: []Arg{{Name: "COMMAND", Optional: true, Many: true}},
		Short: "The manual page of opdeck, or of a command", Without: onlyCommand(ofHost)})
)
