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

// keepers look after the server: over SSH only they run what tells about it.
var keepers = []api.Role{api.OnCall, api.Admin}

// The acts that change nothing at the service.
var (
	OperationList = declare(&reads, Act{Name: "operation.list", Aliases: []string{"ops"}, Need: api.MayRead, Short: "Operations, filtered and sorted", Place: "operations", Key: Key{Press: "1", Hint: "operations", Help: "Operations", Extra: true}})
	OperationGet  = declare(&reads, Act{Name: "operation.get", Need: api.MayRead, Costs: cost(limit.Billing, 1), Args: []Arg{{Name: "OPID", Many: true}}, Short: "One or many operations, as the service sent them (- reads ids from standard input)",
		Place: "operation", Key: Key{Press: "2", Hint: "operation", Help: "Operation", Extra: true}})
	OperationTree = declare(&reads, Act{Name: "operation.tree", Need: api.MayRead, Costs: cost(limit.Billing, 1), Args: args("OPID"), Short: "An operation, those it spawned and those that spawned it",
		Place: "operation", Key: Key{Press: "T", Hint: "tree", Help: "the parent and the child operations"}})
	OperationHistory = declare(&reads, Act{Name: "operation.history", Need: api.MayRead, Args: args("OPID"), Short: "Its timeline: what was read and which events came, with what changed",
		Place: "operation", Key: Key{Press: "h", Hint: "history", Help: "what happened to it, event by event"}})
	OperationTotals = declare(&reads, Act{Name: "operation.totals", Need: api.MayRead, Short: "Exact totals of operations, by group and currency",
		Place: "operations", Key: Key{Press: "T", Hint: "totals", Help: "totals: groups by currency; again goes on"}})
	OperationExport = declare(&reads, Act{Name: "operation.export", Effect: TakeOut, Need: api.MayExport, Event: "export", Args: []Arg{{Name: "FILE", File: true}}, Short: "Write operations of the index to a new file",
		Place: "operations", Key: Key{Press: "e", Hint: "export", Help: "export what the filter shows", Extra: true}})
	OperationReport = declare(&reads, Act{Name: "operation.report", Aliases: []string{"report"}, Effect: TakeOut, Need: api.MayExport, Event: "export", Costs: cost(limit.Billing, 1), Args: []Arg{{Name: "FILE", File: true}},
		Short:   "Save the service's own report of operations (.xlsx) to a new file (- is standard output)",
		Without: map[Surface]string{Screen: "a page of the service's choice, whatever is filtered; the command saves it"}})
	DocumentList = declare(&reads, Act{Name: "document.list", Need: api.MayRead, Costs: cost(limit.Billing, 1), Args: args("OPID"), Short: "The documents of an operation",
		Place: "documents", Key: Key{Press: "3", Hint: "documents", Help: "Documents", Extra: true}})
	DocumentDownload = declare(&reads, Act{Name: "document.download", Effect: TakeOut, Need: api.MayExport, Costs: cost(limit.Customer, 1), Args: []Arg{{Name: "CUID"}, {Name: "DOCID"}, {Name: "FILE", File: true, Optional: true}},
		Short: "Save a customer's document to a file (- is standard output)",
		Place: "documents", Key: Key{Press: "w", Hint: "save", Help: "save the document to a file"}})
	DocumentOpen = declare(&reads, Act{Name: "document.open", Effect: TakeOut, Need: api.MayExport, Event: "document.download", Costs: cost(limit.Customer, 1), Args: []Arg{{Name: "CUID"}, {Name: "DOCID"}},
		Short: "Open a copy of a document with the program that this computer has for it",
		Place: "documents", Key: Key{Press: "O", Hint: "open copy", Help: "open a copy with the program that this computer has for it (asks)"},
		Without: map[Surface]string{Command: "document download saves the file, and a shell opens it", Remote: "a program of the server is not at the person's screen"}})
	CustomerList = declare(&reads, Act{Name: "customer.list", Aliases: []string{"customers", "kyc customers", "kyc", "verify"}, Need: api.MayRead, Costs: cost(limit.Customer, 1), Short: "Customers, one page, or those that pass a filter",
		Place: "operations", Key: Key{Press: "K", Hint: "customers", Help: "all customers, and who waits", Extra: true}})
	CustomerGet = declare(&reads, Act{Name: "customer.get", Need: api.MayRead, Costs: cost(limit.Customer, 1), Args: args("CUID"), Short: "One customer",
		Place: "compliance", Key: Key{Press: "4", Hint: "compliance", Help: "Compliance: the customer, from there all customers", Extra: true}})
	CustomerApplication = declare(&reads, Act{Name: "customer.application", Need: api.MayRead, Costs: cost(limit.Customer, 1), Args: args("CUID"), Short: "A customer's application", Place: "compliance"})
	CustomerFiles       = declare(&reads, Act{Name: "customer.files", Aliases: []string{"customer delete-file"}, Need: api.MayRead, Costs: cost(limit.Customer, 1), Args: args("CUID"), Short: "A customer's uploaded documents, one page",
		Place: "compliance", Key: Key{Press: "F", Hint: "files", Help: "the customer's files: open, save, delete"}})
	AccountList = declare(&reads, Act{Name: "account.list", Aliases: []string{"accounts"}, Need: api.MayRead, Costs: cost(limit.Account, 1), Short: "Accounts with their balances, one page",
		Place: "operations", Key: Key{Press: "A", Hint: "accounts", Help: "accounts with their balances and holds", Extra: true}})
	AccountGet = declare(&reads, Act{Name: "account.get", Need: api.MayRead, Costs: cost(limit.Account, 1), Args: args("ID"), Short: "One account: balance, hold, status, requisites",
		Place: "operation", Key: Key{Press: "a", Hint: "account", Help: "the customer's account: balance, hold, status, requisites"}})
	CounterpartyList = declare(&reads, Act{Name: "counterparty.list", Aliases: []string{"counterparties"}, Need: api.MayRead, Costs: cost(limit.General, 1), Short: "Counterparties with the status of their accounts, one page",
		Place: "operations", Key: Key{Press: "P", Hint: "counterparties", Help: "counterparties and the status of their accounts", Extra: true}})
	CounterpartyGet = declare(&reads, Act{Name: "counterparty.get", Need: api.MayRead, Costs: cost(limit.General, 1), Args: args("ID"), Short: "One counterparty: who it is, its accounts and their status",
		Place: "operation", Key: Key{Press: "p", Hint: "counterparty", Help: "the counterparty: its accounts and whether they are accepted"}})
	TariffLimits = declare(&reads, Act{Name: "tariff.limits", Need: api.MayRead, Costs: cost(limit.Billing, 1), Short: "The service's limits of payments, one page",
		Place: "limits", Key: Key{Press: "L", Hint: "payment limits", Help: "the service's limits of payments"}})
	TariffCommissions = declare(&reads, Act{Name: "tariff.commissions", Aliases: []string{"fees", "tariffs"}, Need: api.MayRead, Costs: cost(limit.Billing, 1), Short: "The service's commissions, one page",
		Place: "limits", Key: Key{Press: "F", Hint: "commissions", Help: "the service's commissions"}})
	ComplianceJourney = declare(&reads, Act{Name: "compliance.journey", Need: api.MayRead, Costs: cost(limit.Customer, 2), Args: args("CUID"), Short: "Where a customer's verification stands, and what is next", Place: "compliance"})
	SessionStatus     = declare(&reads, Act{Name: "session.status", Need: api.MayRead, Short: "State, lifetimes and history of the session; costs no call",
		Place: "session", Key: Key{Press: "6", Hint: "session", Help: "Session", Extra: true}})
	SessionKeep  = declare(&reads, Act{Name: "session.keep", Need: api.MaySession, Short: "Hold the session alive until interrupted", Without: onlyCommand(serves)})
	SessionProxy = declare(&reads, Act{Name: "session.proxy", Need: api.MayRead, Event: "lend.began", Short: "Lend the session to scripts: answer the service's own paths, without a token, until interrupted", Without: onlyCommand(serves)})
	SessionExec  = declare(&reads, Act{Name: "session.exec", Need: api.MayRead, Event: "lend.began", Args: []Arg{{Name: "CMD", Many: true}}, Short: "Start a command that may use the session",
		Without: onlyCommand("starts a command of this host")})
	Limits = declare(&reads, Act{Name: "limits", Need: api.MayRead, Short: "Use and room per endpoint class, all instances together; costs no call",
		Place: "limits", Key: Key{Press: "5", Hint: "limits", Help: "Limits", Extra: true}})
	IndexStatus  = declare(&reads, Act{Name: "index.status", Need: api.MayRead, Short: "How much the index holds, how old it is, how long a full pass takes; costs no call", Without: onlyCommand("the header shows it")})
	IndexSync    = declare(&reads, Act{Name: "index.sync", Need: api.MayRead, Costs: cost(limit.Billing, 1), Short: "Look for new operations now; --wait reads everything", Without: onlyCommand("runs in the background")})
	IndexVerify  = declare(&reads, Act{Name: "index.verify", Need: api.MayRead, Costs: cost(limit.Billing, 1), Short: "Compare the index with the service, and repair it; exit 1 when they differ", Without: onlyCommand("takes as long as the budget needs")})
	IndexRebuild = declare(&reads, Act{Name: "index.rebuild", Effect: Local, Ask: YesNo, Need: api.MaySession, Short: "Drop what the index holds of this account, and begin again",
		Words: Question{Title: "Rebuild index", Verb: "Drop", Ask: "Drop all operations of the index?", Risk: "The sync reads them again, which costs calls and time.", Done: "The index is empty."}, Without: onlyCommand(ofHost)})
	EventList = declare(&reads, Act{Name: "event.list", Need: api.MayRead, Short: "Stored events, newest first", Place: "events", Key: Key{Press: "7", Hint: "events", Help: "Events", Extra: true}})
	EventShow = declare(&reads, Act{Name: "event.show", Need: api.MayRead, Args: args("HOOKID"), Short: "One event with its body and what became of it", Place: "events"})
	EventTail = declare(&reads, Act{Name: "event.tail", Aliases: []string{"tail"}, Need: api.MayRead, Short: "Follow the inbox until interrupted, one line an event",
		Place: "events", Key: Key{Press: "p", Hint: "follow", Help: "follow new events, or stop"}})
	EventCodes = declare(&reads, Act{Name: "event.codes", Aliases: []string{"codes"}, Need: api.MayRead, Short: "What numeric codes of operations mean, as far as was learnt",
		Place: "events", Key: Key{Press: "c", Hint: "codes", Help: "learnt meanings of numeric codes"}})
	EventListen = declare(&reads, Act{Name: "event.listen", Effect: Local, Need: api.MayRead, Short: "Receive webhooks until interrupted, one line each", Without: onlyCommand(serves)})
	EventSend   = declare(&reads, Act{Name: "event.send", Effect: Local, Need: api.MayHooks, Event: "-", Args: []Arg{{Name: "FILE", File: true}}, Short: "Put a stored body (- is standard input) through the receiver, without the network",
		Without: map[Surface]string{Screen: "a file of the host; the command sends it"}})
	HookGet = declare(&reads, Act{Name: "hook.get", Aliases: []string{"hook", "hooks", "hook set"}, Need: api.MayRead, Costs: cost(limit.General, 1), Short: "The service's webhook settings; the secret is dots",
		Place: "events", Key: Key{Press: "W", Hint: "settings", Help: "the service's webhook settings", Extra: true}})
	AuditList   = declare(&reads, Act{Name: "audit.list", Need: api.MayAudit, Event: "audit.read", Short: "Records, newest first", Place: "audit", Key: Key{Press: "8", Hint: "audit", Help: "Audit", Extra: true}})
	AuditVerify = declare(&reads, Act{Name: "audit.verify", Need: api.MayAudit, Event: "-", Short: "Check that the trail is whole and unchanged",
		Args:  []Arg{{Name: "FILE", File: true, Optional: true, Many: true}},
		Place: "audit", Key: Key{Press: "V", Hint: "verify", Help: "check the trail: whole and unchanged"}})
	AuditCheckpoint = declare(&reads, Act{Name: "audit.checkpoint", Need: api.MayAudit, Event: "-", Short: "Sign the end of the trail and print the note, to keep anywhere",
		Without: map[Surface]string{Screen: "a note is a file to keep elsewhere; the command prints it"}})
	AuditExport = declare(&reads, Act{Name: "audit.export", Effect: TakeOut, Need: api.MayAuditOut, Args: []Arg{{Name: "FILE", File: true, Optional: true}}, Short: "Take the trail, or the evidence about one object, away",
		Place: "audit", Key: Key{Press: "e", Hint: "export", Help: "export the trail", Extra: true}})
	AuditProve = declare(&reads, Act{Name: "audit.prove", Effect: TakeOut, Need: api.MayAuditOut, Event: "audit.extract", Args: []Arg{{Name: "SEQ"}, {Name: "FILE", File: true, Optional: true}},
		Short: "Prove that one record stands in the trail, showing no other", Without: map[Surface]string{Screen: "a proof is a file; the command writes it"}})
	AuditKey       = declare(&reads, Act{Name: "audit.key", Need: api.MayRead, Short: "The public key that verifies the checkpoints, and where they are", Without: map[Surface]string{Screen: "the command prints it"}})
	AuditUnsettled = declare(&reads, Act{Name: "audit.unsettled", Need: api.MayAudit, Event: "-", Short: "Writes whose outcome is not known", Place: "audit"})
	AuditSettle    = declare(&reads, Act{Name: "audit.settle", Effect: Local, Need: api.MayAudit, Args: args("REF"), Short: "Close an unsettled write after its object was looked at",
		Without: map[Surface]string{Screen: "needs a note; the command takes one"}})
	ApprovalList = declare(&reads, Act{Name: "approval.list", Aliases: []string{"approvals"}, Need: api.MayRead, Short: "Requests, newest first",
		Place: "audit", Key: Key{Press: "A", Hint: "approvals", Help: "writes that wait for a second person"}})
	ApprovalShow = declare(&reads, Act{Name: "approval.show", Need: api.MayRead, Args: args("ID"), Short: "One request: what would be sent, by whom, until when", Place: "approvals"})
	Reveal       = declare(&reads, Act{Name: "reveal", Effect: TakeOut, Need: api.MayReveal, Event: "reveal", Place: "everywhere", Key: Key{Press: "M", Hint: "reveal", Help: "reveal masked values for 30 s", Extra: true},
		Without: map[Surface]string{Command: "who may reveal reads unmasked by command", Remote: "who may reveal reads unmasked by command"}})

	Doctor = declare(&reads, Act{Name: "doctor", Aliases: []string{"health"}, Roles: keepers, Short: "Check each step between here and the service",
		Place: "session", Key: Key{Press: "D", Hint: "doctor", Help: "check name, TLS, login, clock, store and feed"}})
	ConfigInit  = declare(&reads, Act{Name: "config.init", Effect: Local, Short: "Make a config file, by questions or by flags", Without: onlyCommand(ofHost)})
	ConfigCheck = declare(&reads, Act{Name: "config.check", Args: []Arg{{Name: "FILE", File: true, Optional: true}}, Short: "Name file, line and key of each mistake", Without: onlyCommand(ofHost)})
	ConfigShow  = declare(&reads, Act{Name: "config.show", Short: "The config with its defaults, without secrets", Without: onlyCommand(ofHost)})
	ConfigPath  = declare(&reads, Act{Name: "config.path", Short: "Where the config file and the state folder are looked for", Without: onlyCommand(ofHost)})
	Serve       = declare(&reads, Act{Name: "serve", Short: "Serve the console over SSH, receive webhooks, keep the session, publish metrics", Without: onlyCommand(serves)})
	Sandbox     = declare(&reads, Act{Name: "sandbox", Short: "Run the built-in service as a server of its own", Without: onlyCommand(serves)})
	Schema      = declare(&reads, Act{Name: "schema", Short: "Every command, flag, argument, JSON field and exit code as JSON", Without: map[Surface]string{Screen: "for programs"}})
	Version     = declare(&reads, Act{Name: "version", Short: "Version, commit and build", Without: map[Surface]string{Screen: "the help names it"}})
	Completion  = declare(&reads, Act{Name: "completion", Args: args("SHELL"), Short: "Completion script for bash, zsh, fish or powershell", Without: onlyCommand("for a shell of this host")})
	Man         = declare(&reads, Act{Name: "man", Args: []Arg{{Name: "DIR", File: true, Optional: true}}, Short: "Show the manual page, or write the pages of all commands into a folder", Without: onlyCommand(ofHost)})
)
