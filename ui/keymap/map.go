package keymap

import (
	"reflect"

	"opdeck/internal/act"
)

// Global keys work on every screen unless text is being typed.
type Global struct {
	Operations, Operation, Documents, Compliance, Limits, Session, Events, Audit             Key
	Help, Palette, OpenID, Back, Quit, Leave, Reload, Pane, PaneBack, Zone, Activity, Reveal Key
	Before, After, Previous, Next, OnCall, Why                                               Key
}

// Places are the keys of the places, in the order of their numbers.
func (g *Global) Places() [8]*Key {
	return [...]*Key{&g.Operations, &g.Operation, &g.Documents, &g.Compliance, &g.Limits, &g.Session, &g.Events, &g.Audit}
}

// Nav moves in tables, viewers and menus.
type Nav struct{ Up, Down, PageUp, PageDown, HalfUp, HalfDown, Top, Bottom Key }

// List are the keys of every list.
type List struct{ Open, Filter, Sort, Views, Mark, MarkAll, Range, Remark, Left, Right, Preview Key }

// Item are the keys about the thing under the cursor or on the screen.
type Item struct{ CopyID, CopyJSON, Raw Key }

// Operations belongs to the list of operations.
type Operations struct {
	Documents, Live, Totals, Export, Columns, Customers, Accounts, Counterparties Key
}

// Totals are the keys while the totals of the list are open; but for Within they are
// those of the cursor in them.
type Totals struct{ Within, Left, Right Key }

// Columns are the keys while columns of a list are chosen.
type Columns struct{ Show, Narrower, Wider, Earlier, Later, Reset, Keep, Cancel Key }

// Operation belongs to one operation.
type Operation struct{ Documents, Tree, Account, Counterparty Key }

// Related lead from an operation, on the screen or under the cursor, to what is known of it.
type Related struct{ History, Customer Key }

// Notes belongs to what colleagues wrote about an operation or a customer.
type Notes struct{ Add Key }

// Documents belongs to the documents of an operation.
type Documents struct{ Remove, Restore, Replace, Attach, Upload, Save Key }

// Files belongs to a customer's files.
type Files struct{ Delete Key }

// Compliance belongs to customers and their verification.
type Compliance struct{ Share, Link, Finalize, Operations, Files Key }

// Tariffs belongs to the screen of limits.
type Tariffs struct{ Limits, Commissions Key }

// Session belongs to the token pair.
type Session struct{ Refresh, Login, Reset, Doctor Key }

// Events belongs to webhooks.
type Events struct{ Follow, Replay, Codes, Rejected, Settings, Operation Key }

// Hooks belongs to the page of the service's webhook settings.
type Hooks struct{ Change Key }

// Audit belongs to the audit trail and approvals.
type Audit struct{ Verify, Everything, Export, Approvals, Approve, Deny Key }

// Approvals belongs to the requests for approval.
type Approvals struct{ Details Key }

// Dialog are the keys of the one question and of explanations.
type Dialog struct{ Yes, No, Answer, Next, Prev, Close Key }

// Form are the keys of input dialogs; printable keys are text there.
type Form struct{ Next, Prev, Submit, Cancel Key }

// Viewer are the keys of text viewers (raw JSON, help, activity).
type Viewer struct{ Search, Next, Prev, Copy, Close Key }

// Menu are the keys of menus with a typed filter: palette, views, sort.
type Menu struct{ Up, Down, Choose, Close Key }

// Map holds all groups. Make one per console with New: switching one off does
// not touch another.
type Map struct {
	Global     Global
	Nav        Nav
	List       List
	Item       Item
	Operations Operations
	Totals     Totals
	Columns    Columns
	Operation  Operation
	Related    Related
	Notes      Notes
	Documents  Documents
	Files      Files
	Compliance Compliance
	Tariffs    Tariffs
	Session    Session
	Events     Events
	Hooks      Hooks
	Audit      Audit
	Approvals  Approvals
	Dialog     Dialog
	Form       Form
	Viewer     Viewer
	Menu       Menu
}

// New returns all keys, switched on.
func New() *Map {
	return &Map{
		Global: globalKeys(),
		Nav: Nav{
			Up:       Bind("nav.up", "up", "one line up", "up", "k").extra().unoffered(byNumber),
			Down:     Bind("nav.down", "down", "one line down", "down", "j").extra().unoffered(byNumber),
			PageUp:   Bind("nav.pageup", "page up", "one page up", "pgup", "ctrl+b").extra().unoffered("previous"),
			PageDown: Bind("nav.pagedown", "page down", "one page down", "pgdown", "ctrl+f").extra().unoffered("next"),
			HalfUp:   Bind("nav.halfup", "half a page up", "half a page up", "ctrl+u").extra().unoffered("previous"),
			HalfDown: Bind("nav.halfdown", "half a page down", "half a page down", "ctrl+d").extra().unoffered("next"),
			Top:      Bind("nav.top", "top", "to the first line", "home", "g").extra().unoffered("first"),
			Bottom:   Bind("nav.bottom", "bottom", "to the last line", "end", "G").extra().unoffered("last"),
		},
		List: List{
			Open: Bind("list.open", "open", "open the selected row", "enter").typed("opens the row of that number."),
			Filter: Bind("list.filter", "filter", "filter; esc clears",
				"/").ofList().typed("shows only what matches; filter off shows everything, filter help explains the language."),
			Sort: Bind("list.sort", "sort", "sort by the column that ← → chose, or choose one",
				"s").ofList().typed("asks for the column; the current order is reversed."),
			Views: Bind("list.views", "views", "saved views", "v").ofList(),
			Mark:  Bind("list.mark", "mark", "mark or unmark the row", " "), MarkAll: Bind("list.markall", "mark all",
				"mark all that the filter shows; press again to unmark", "*").extra().ofList(),
			Range:  Bind("list.range", "mark range", "mark all rows from the last mark to the cursor", "m").extra(),
			Remark: Bind("list.remark", "restore marks", "restore the marks that you cleared last", "U").extra().ofList(),
			Left:   Bind("list.left", "column left", "previous column (s sorts by it)", "left").extra().unoffered(drawnList),
			Right: Bind("list.right", "column right", "next column (s sorts by it); hidden columns scroll into view",
				"right").extra().unoffered(drawnList),
			Preview: Bind("list.preview", "preview", "preview beside the list (in a wide window)",
				"|").extra().unoffered("plain mode has no preview; a number opens the row"),
		},
		Item: Item{
			CopyID: Bind("item.copy", "copy id", "copy the id to the clipboard", "y").typed("shows the id.").quiet(),
			CopyJSON: Bind("item.copyjson", "copy JSON", "copy JSON to the clipboard",
				"Y").extra().typed("shows it as JSON, on one line.").quiet(),
			Raw: Bind("item.raw", "raw", "JSON as received, values masked", "J").extra().quiet(),
		},
		Operations: Operations{
			Documents: Bind("operations.documents", "documents", "documents of this operation", "d"),
			Live:      Bind("operations.live", "live", "read this page from the service", "L").extra().ofList(),
			Totals:    of(act.OperationTotals).ofList(), Export: of(act.OperationExport).ofList(),
			Columns: Bind("operations.columns", "columns", "choose columns, their order and width",
				"c").unoffered(drawnList),
			Customers: of(act.CustomerList).ofList(), Accounts: of(act.AccountList).ofList(),
			Counterparties: of(act.CounterpartyList).ofList(),
		},
		Totals: Totals{
			Within: Bind("totals.within", "split", "split each group of the totals further", ".").ofList(),
			Left: Bind("totals.left", "previous currency", "in the totals: previous currency",
				"left").extra().unoffered(inFull),
			Right: Bind("totals.right", "next currency", "in the totals: next currency", "right").extra().unoffered(inFull),
		},
		Columns: columnKeys(),
		Operation: Operation{
			Documents: Bind("operation.documents", "documents", "documents of this operation", "d"), Tree: of(act.OperationTree),
			Account: of(act.AccountGet), Counterparty: of(act.CounterpartyGet),
		},
		Notes: Notes{Add: of(act.NoteAdd)},
		Related: Related{History: of(act.OperationHistory), Customer: Bind("operation.customer", "customer",
			"the customer's verification", "C")},
		Documents: documentKeys(), Files: Files{Delete: of(act.CustomerDeleteFile)},
		Compliance: Compliance{
			Share:      of(act.ComplianceShare),
			Link:       of(act.ComplianceLink),
			Finalize:   of(act.ComplianceFinalize),
			Operations: Bind("compliance.operations", "operations", "operations of this customer", "i"),
			Files:      of(act.CustomerFiles),
		},
		Tariffs: Tariffs{Limits: of(act.TariffLimits), Commissions: of(act.TariffCommissions)},
		Session: Session{
			Refresh: of(act.SessionRefresh),
			Login:   of(act.SessionLogin),
			Reset:   of(act.SessionReset),
			Doctor:  of(act.Doctor),
		},
		Events: Events{
			Follow: of(act.EventTail).ofList(), Replay: of(act.EventReplay),
			Codes: of(act.EventCodes).ofList(), Rejected: Bind("events.rejected", "rejected",
				"rejected deliveries with the reason", "b").ofList(),
			Settings:  of(act.HookGet).ofList(),
			Operation: Bind("events.operation", "operation", "open the operation of this event", "i"),
		},
		Hooks: Hooks{Change: of(act.HookSet)},
		Audit: Audit{
			Verify: of(act.AuditVerify).ofList(), Export: of(act.AuditExport),
			Everything: Bind("audit.everything", "everything", "all records, or writes and refusals only", ".").ofList(),
			Approvals:  of(act.ApprovalList).ofList(),
			Approve:    of(act.ApprovalApprove), Deny: of(act.ApprovalDeny),
		},
		Approvals: Approvals{Details: of(act.ApprovalShow).ofList()},
		Dialog:    dialogKeys(),
		Form:      formKeys(),
		Viewer:    viewerKeys(),
		Menu:      menuKeys(),
	}
}

func globalKeys() Global {
	return Global{
		Operations: of(act.OperationList), Operation: of(act.OperationGet),
		Documents: of(act.DocumentList), Compliance: of(act.CustomerGet),
		Limits: of(act.Limits), Session: of(act.SessionStatus),
		Events: of(act.EventList), Audit: of(act.AuditList),
		Help: Bind("help", "help", "help for this screen", "?").unoffered("? lists the commands"),
		Palette: Bind("palette", "commands", "commands, views, customers and operations by name",
			":").unoffered("? lists the commands"),
		OpenID: Bind("openid", "open id", "open an operation by what a list shows of it: id, amount, day, reference, name",
			"o").extra().ofList(),
		Back: Bind("back", "back", "back; on the first screen clears marks, then the filter; asks before it discards text",
			"esc").extra().unoffered("back"),
		Quit: Bind("quit", "back", "back; on the first screen asks to leave", "q").extra().unoffered("back"),
		Leave: Bind("leave", "leave", "leave (discards an unsent write, waits for a sent one)",
			"ctrl+c").extra().unoffered("quit, and ctrl+c"),
		Reload: Bind("reload", "reload", "reload (costs one call; the hint says which class)",
			"r").typed("reloads it from its source."), Pane: Bind("pane", "next pane", "next pane", "tab").extra(),
		PaneBack: Bind("paneback", "previous pane", "previous pane", "shift+tab").extra().
			unoffered("pane switches between the two"),
		Zone:     Bind("zone", "UTC", "local time / UTC", "t").extra().quiet(),
		Activity: Bind("activity", "activity", "what is going on: calls, waits, errors", "!").extra().quiet(),
		Reveal:   of(act.Reveal),
		Before:   Bind("before", "before", "previous screen", "[").extra(),
		After:    Bind("after", "forward", "next screen (after [)", "]").extra(),
		Previous: Bind("previous", "previous row", "inside a record: the previous row of its list", "<").extra(),
		Next:     Bind("next", "next row", "inside a record: the next row of its list", ">").extra(),
		OnCall: Bind("oncall", "on call", "on call: what is wrong, what to do, and the state of each part on one page",
			"B").extra(),
		Why: Bind("why", "why", "evidence: which read proves what you see",
			"E").extra().quiet(),
	}
}

func documentKeys() Documents {
	return Documents{Save: of(act.DocumentDownload), Remove: of(act.DocumentRemove),
		Restore: of(act.DocumentRestore), Attach: of(act.DocumentAttach),
		Upload: of(act.DocumentUpload), Replace: of(act.DocumentReplace)}
}

// All returns the keys of a group in the order they are declared.
func All(group any) []Key {
	v := reflect.ValueOf(group)
	if v.Kind() != reflect.Pointer {
		p := reflect.New(v.Type())
		p.Elem().Set(v)
		v = p
	}
	v = v.Elem()
	out := make([]Key, 0, v.NumField())
	for i := range v.NumField() {
		if k, ok := v.Field(i).Addr().Interface().(*Key); ok {
			out = append(out, *k)
		}
	}
	return out
}

// Index returns the index of the key of that name; negative: it is not among keys.
func Index(keys []Key, name string) int {
	for i := range keys { // a key is large
		if keys[i].Name == name {
			return i
		}
	}
	return -1
}

// Join is several groups as one list, the first group's keys first.
func Join(groups ...any) []Key {
	var out []Key
	for _, g := range groups {
		out = append(out, All(g)...)
	}
	return out
}

// Everything lists all keys of all groups.
func (m *Map) Everything() []Key {
	var out []Key
	m.each(func(k *Key) { out = append(out, *k) })
	return out
}

// each calls f with a pointer to every key of m.
func (m *Map) each(f func(*Key)) {
	v := reflect.ValueOf(m).Elem()
	for i := range v.NumField() {
		g := v.Field(i)
		for j := range g.NumField() {
			f(g.Field(j).Addr().Interface().(*Key))
		}
	}
}

// ReadOnly bars every key that writes; why is the sentence shown when one is pressed.
func (m *Map) ReadOnly(why string) {
	m.each(func(k *Key) {
		if k.Writes {
			k.Bar(why)
		}
	})
}

// Allow bars every key that may refuses; it returns the reason or "". Use it for roles.
func (m *Map) Allow(may func(k Key) (why string)) {
	m.each(func(k *Key) {
		if k.barred != "" {
			return
		}
		if why := may(*k); why != "" {
			k.Bar(why)
		}
	})
}

func columnKeys() Columns {
	return Columns{
		Show: Bind("columns.show", "show or hide", "show or hide the column; if it did not fit, make room for it",
			" "),
		Narrower: Bind("columns.narrower", "narrower", "narrower", "left", "-"),
		Wider:    Bind("columns.wider", "wider", "wider", "right", "+"),
		Earlier:  Bind("columns.earlier", "earlier", "move it to the left", "<"),
		Later:    Bind("columns.later", "later", "move it to the right", ">"),
		Reset:    Bind("columns.reset", "reset", "restore the default columns", "0"),
		Keep:     Bind("columns.keep", "keep", "save these columns", "enter", "c"),
		Cancel:   Bind("columns.cancel", "cancel", "cancel", "esc", "q"),
	}
}

func dialogKeys() Dialog {
	return Dialog{
		Yes: Bind("dialog.yes", "yes", "yes", "y"), No: Bind("dialog.no", "no", "no", "n", "esc"),
		Answer: Bind("dialog.answer", "marked answer", "choose the marked answer; No is marked first", "enter"),
		Next:   Bind("dialog.next", "other answer", "the other answer", "tab", "right", "down"),
		Prev:   Bind("dialog.prev", "other answer", "the other answer", "shift+tab", "left", "up").extra(),
		Close:  Bind("dialog.close", "close", "close", " ", "q").extra(),
	}
}

func formKeys() Form {
	return Form{
		Next: Bind("form.next", "next", "next field", "tab", "down"), Prev: Bind("form.prev", "previous", "previous field",
			"shift+tab", "up").extra(),
		Submit: Bind("form.submit", "send", "next field; on the last one: send", "enter"),
		Cancel: Bind("form.cancel", "cancel", "cancel; asks when something was typed", "esc"),
	}
}

func viewerKeys() Viewer {
	return Viewer{
		Search: Bind("viewer.search", "search", "search", "/").unoffered(inFull),
		Next:   Bind("viewer.next", "next", "next match", "n").extra().unoffered(inFull),
		Prev:   Bind("viewer.prev", "previous", "previous match", "p").extra().unoffered(inFull),
		Copy:   Bind("viewer.copy", "copy", "copy all to the clipboard", "y").unoffered(inFull),
		Close:  Bind("viewer.close", "close", "close", "esc", "q").unoffered(inFull),
	}
}

func menuKeys() Menu {
	return Menu{
		Up: Bind("menu.up", "up", "one line up", "up", "ctrl+p").extra(), Down: Bind("menu.down", "down", "one line down",
			"down", "ctrl+n").extra(),
		Choose: Bind("menu.choose", "choose", "choose", "enter"), Close: Bind("menu.close", "close", "close", "esc"),
	}
}
