package present

import (
	"opdeck/api"
	"opdeck/api/session"
	"opdeck/internal/domain/approval"
	"opdeck/internal/domain/audit"
	"opdeck/internal/domain/journey"
	"opdeck/internal/domain/verdict"
	"opdeck/internal/field"
)

// presenters are the exported functions, methods and columns that present a record. Tests call each with made-up
// records: a new one belongs here.
var presenters = map[string]any{
	"Account": Account, "Application": Application, "AskedCustomer": AskedCustomer, "AskedDocument": AskedDocument,
	"AskedFile.Facts": AskedFile.Facts, "PersonOf": PersonOf,
	"AskedFinalize": AskedFinalize, "AskedOperation": AskedOperation, "AskedReplace": AskedReplace,
	"AskedReplay": AskedReplay, "AskedResume": AskedResume, "AskedSession": AskedSession, "Attached": Attached,
	"AuditColumns": AuditColumns,
	"AuditEntry":   AuditEntry, "AuditEvent": AuditEvent, "AuditHashes": AuditHashes, "AuditListed": AuditListed, "AuditObject": AuditObject,
	"AuditOutcome": AuditOutcome, "AuditText": func(s string) string { return AuditText(s, 300) }, "Begun": Begun,
	"BorrowerColumns": BorrowerColumns, "Budget.Line": Budget.Line, "BudgetColumns": BudgetColumns,
	"BudgetNotes": BudgetNotes, "BudgetSums": BudgetSums, "Counterparty": Counterparty, "Customer": Customer,
	"ConnectedColumns": ConnectedColumns, "CustomerName": CustomerName, "Decision": Decision, "Document": Document, "EventChange": EventChange,
	"EventColumns": EventColumns, "EventFacts": EventFacts, "EventIssues": EventIssues, "EventListed": EventListed,
	"EventType": EventType, "FieldName": FieldName, "File": File, "Headline": Headline, "Payee": Payee,
	"HookSettings":    HookSettings,
	"InstanceColumns": InstanceColumns, "JobColumns": JobColumns,
	"JourneyProblems": JourneyProblems, "LinkLeft": LinkLeft, "JobStep": JobStep,
	"JourneyColumns": func(o Options, j journey.Journey) (out []Cell) {
		for _, step := range JourneySteps(j) {
			for _, c := range JourneyColumns {
				out = append(out, c.Cell(o, step))
			}
		}
		return out
	}, "JourneySteps": JourneySteps, "Judged": Judged,
	"Life.Line": func(o Options, s session.Status) string { return SessionLives(o, s)[0].Line() },
	"LockWord":  LockWord, "Mark.Cell": func(o Options, q approval.Request) Cell {
		mark, _ := RequestState(o, q)
		return mark.Cell(o)
	}, "CodeColumns": CodeColumns,
	"Moment.By":        Moment.By,
	"Moment.FieldName": Moment.FieldName, "Moment.Item": func(m Moment) (out []string) {
		for _, c := range m.Changes {
			_, says := m.Item(m.Changes, c)
			out = append(out, says)
		}
		return out
	}, "Moment.Look": Moment.Look,
	"Moment.Summary": func(o Options, m Moment) string { return m.Summary(o, 4) },
	"MomentColumns":  func() []Column[Moment] { return MomentColumns(4) }, "NoOutcome": NoOutcome,
	"Operation": Operation, "NoteBy": NoteBy, "NoteOn": NoteOn, "NoteFound": NoteFound, "Moment.IsState": Moment.IsState, "ShareRisk": ShareRisk, "NoteListed": NoteListed, "NoteText": NoteText, "OperationFacts": OperationFacts,
	"Options.Details": func(o Options, list []api.Field) []Fact { return o.Details(api.Details(list)) },
	"Options.Moment":  func(o Options, t api.Time) Fact { return o.Moment("at", t) },
	"Options.Money":   func(o Options, m api.Money) []Fact { return o.Money("amount", m) },
	"Options.More":    func(o Options, list []api.Field) []Fact { out, _ := o.More(list, 9); return out },
	"Options.Status":  func(o Options, a api.Customer) Fact { return o.Status("status", a.Status) }, "Rejected": Rejected,
	"RejectedAt": RejectedAt, "RejectedColumns": RejectedColumns, "Request": Request, "RequestColumns": RequestColumns,
	"RequestDetails": RequestDetails, "RequestListed": RequestListed, "RequestState": RequestState,
	"RequestTitle": RequestTitle, "RequestQuestion": RequestQuestion, "Sentence.Line": func(o Options, v verdict.Verdict) string { return VerdictLine(o, v).Line(o) }, "Session": func(o Options, s session.Status, v verdict.Verdict) []Section { return Session(o, s, v) }, "SessionCounts": SessionCounts,
	"SessionCountsLine": SessionCountsLine, "SessionEventColumns": SessionEventColumns, "SessionLives": SessionLives,
	"SessionPair": SessionPair, "SessionState": SessionState, "SessionStateBy": SessionStateBy, "SessionProblem": func(o Options, s session.Status, v verdict.Verdict) []string {
		s.History = append(s.History, session.Event{At: o.Now, Kind: session.EventClock, Owner: s.By})
		title, says, lines := SessionProblem(o, s, v)
		return append(lines, title, says)
	}, "SetAside": SetAside,
	"PaymentLimit": PaymentLimit, "Commission": Commission, "Text": func(c api.Customer) []Fact { return Text("label", c.Name, "") },
	"Texts":     func(r audit.Record) []Fact { return Texts("label", r.Name) },
	"Trust":     Trust,
	"Unsettled": Unsettled, "UnsettledListed": UnsettledListed,
	"FindingLine": func(o Options, f verdict.Finding) Sentence { return FindingLine(o, f) },
	"Findings":    func(o Options, v verdict.Verdict) []Section { return Findings(o, v) },
	"Evidence":    Evidence, "EvidenceOf": EvidenceOf, "FindingStep": FindingStep, "FindingSays": FindingSays, "Advice": func(o Options, f verdict.Finding) []Fact { return Advice(o, f) }, "PartLine": func(v verdict.Verdict) Sentence { return PartLine(v, verdict.PartStore) },
	"VerdictLine": VerdictLine,
	"Value":       Value, "Verified": Verified,

	"CellOf":  eachField(func(o Options, f field.Field[api.Operation], op api.Operation) any { return CellOf(o, f, op) }),
	"FactsOf": eachField(func(o Options, f field.Field[api.Operation], op api.Operation) any { return FactsOf(o, f, op) }),
	"ColumnOf": eachField(func(_ Options, f field.Field[api.Operation], _ api.Operation) any {
		return []Column[api.Operation]{ColumnOf(field.Operations, f.Name)}
	}),
}

// eachField presents each field of an operation.
func eachField(one func(Options, field.Field[api.Operation], api.Operation) any) func(Options, api.Operation) []any {
	return func(o Options, op api.Operation) []any {
		var out []any
		for _, f := range field.Operations.All() {
			out = append(out, one(o, f, op))
		}
		return out
	}
}
