package records

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/untrusted"
	"opdeck/internal/act"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/field"
	"opdeck/internal/format"
	"opdeck/internal/present"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/list"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
	"opdeck/views/storedfile"
)

// KindFiles is the kind of this place; its ID is the customer's.
const KindFiles = "files"

// Files is the list of a customer's files; it implements ui.Screen.
type Files struct {
	*List[api.CustomerFile]
	env    *ui.Env
	caller endpoint.Caller
	save   storedfile.Save
	cuid   string

	owner func(ctx context.Context, cuid string) Owner
	owned Owner
}

// fileTerms is the filter language over files.
var fileTerms = filter.NewTable(append(filter.Catalogued(field.Files),
	filter.Field[api.CustomerFile]{Kind: filter.Free, Help: "contained in any of these fields", Example: `"free text"`,
		Strings: func(f api.CustomerFile) []string {
			return []string{string(f.Title()), string(f.Type), string(f.MIME), string(f.Info), string(f.ID)}
		}})...)

// Owner is what the index knows of a customer and their files.
type Owner struct {
	Name string            // safe text; empty: not known
	Uses map[string]string // file id: operation that has it as a document, as far as the index knows
}

// NewFiles returns the screen of a customer's files; start is its first filter. owner reads the index.
func NewFiles(env *ui.Env, caller endpoint.Caller, save storedfile.Save, owner func(context.Context, string) Owner,
	cuid, start string) *Files {
	s := &Files{env: env, caller: caller, save: save, cuid: cuid, owner: owner}
	s.List = newList(env, Spec[api.CustomerFile]{Kind: KindFiles, Of: cuid, Title: "Files",
		One: "file", Many: "files", Class: "customer",
		Catalogue: field.Files, Columns: []string{"name", "type", "size", "created", "lock", "state", "media", "id"},
		Language: fileTerms, Example: "passport type:PASSPORT created<30d",
		ID: func(f api.CustomerFile) string { return string(f.ID) }, CUID: func(api.CustomerFile) string { return cuid },
		Raw: func(f api.CustomerFile) json.RawMessage { return f.Raw },
		Read: func(ctx context.Context, at api.PageAt, _ string) (api.Page[api.CustomerFile], error) {
			return endpoint.Do(ctx, caller, endpoint.ListFiles, endpoint.FileQuery{CUID: cuid, Page: at.Page, Next: at.Next})
		},
		Card: func(o present.Options, f api.CustomerFile) []present.Section {
			return []present.Section{{Facts: present.File(o, cuid, f)}}
		},
		Own: s.ownKey, OwnKeys: s.ownKeys}, start)
	return s
}

// Title implements ui.Screen.
func (s *Files) Title() string { return list.TitleOf("Files", s.owned.Name, s.cuid) }

// Init implements ui.Screen: it also reads the customer's name and the uses of the files from the index.
func (s *Files) Init() tea.Cmd {
	read := func(ctx context.Context) (Owner, error) { return s.owner(ctx, s.cuid), nil }
	return tea.Batch(s.List.Init(), ui.Reading(s.env, nil, read, func(o Owner, _ time.Time, _ error) { s.owned = o }))
}

func (s *Files) ownKeys(onPage bool) []keymap.Key {
	k := s.env.Keys
	if onPage {
		return []keymap.Key{k.Documents.Save}
	}
	return []keymap.Key{k.List.Open, k.Documents.Save, k.Files.Delete}
}

func (s *Files) ownKey(msg keymap.Press, f api.CustomerFile) (ui.Action, tea.Cmd, bool) {
	k := s.env.Keys
	switch {
	case k.Documents.Save.Match(msg):
		return storedfile.AskSave(s.env, s.save, storedfile.FileOf(s.cuid, f)), nil, true
	case s.Page != nil:
	case k.List.Open.Match(msg):
		storedfile.Show(s.List.List, storedfile.FileOf(s.cuid, f), func() []widget.Pair { return s.card(f) })
		return nil, nil, true
	case k.Files.Delete.Match(msg):
		return s.askDelete(f), nil, true
	}
	return nil, nil, false
}

// card is all that is known of a file, its id first.
func (s *Files) card(f api.CustomerFile) []widget.Pair {
	return s.env.Pairs(present.File(s.env.Present(), s.cuid, f), nil)
}

// askDelete asks whether to delete a file; one that is locked is explained instead.
func (s *Files) askDelete(f api.CustomerFile) ui.Action {
	if busy, ok := list.OneThing(s.Doing); ok {
		return busy
	}
	id := string(f.ID)
	if f.Lock().Is() {
		return ui.Explain{Title: "Locked",
			Lines: []string{"This file is locked and cannot be deleted. Only the compliance team can unlock it. Send them the " +
				"ids below."},
			Facts: s.card(f), Copy: ui.Copy{Text: "file " + f.ID.Line(64) + ", customer " + s.cuid, What: "the ids"}}
	}
	name, r := storedfile.FileOf(s.cuid, f).Line(), api.DeleteFile{CUID: s.cuid, ID: id, Seen: &f,
		Force: f.Lock() == api.LockUnknown}
	whose, facts := "customer "+draw.ID(s.cuid, 20), s.card(f)[1:]
	if s.owned.Name != "" {
		whose = s.owned.Name
		facts = append(facts, widget.Pair{Label: "customer", Value: whose, Long: true})
	}
	risk := "opdeck does not know whether an operation uses this file. If one does, the service may refuse."
	if opid := s.owned.Uses[id]; opid != "" {
		risk = "It is attached to operation " + draw.ID(opid, 13) + ": the service may refuse."
		facts = append(facts, widget.Pair{Label: "attached to", Value: untrusted.Text(opid).Line(64), Tone: theme.Warn})
	}
	if r.Force {
		risk = "The service does not say whether this file is locked. If the compliance team has locked it, it must stay. " +
			risk
	}
	return ui.Asking(act.CustomerDeleteFile, act.Object{Item: name, ID: draw.ID(s.cuid, 20), Kind: "customer"},
		ui.Confirm{ID: id, Facts: facts, Ask: "Delete " + name + " of " + whose + " for good?", Risk: risk,
			Yes: func(ui.Seen) tea.Cmd { return s.remove(name, r) }})
}

// remove deletes the file and reads the files again.
func (s *Files) remove(name string, r api.DeleteFile) tea.Cmd {
	s.Doing = "deleting " + name
	caller, env := s.caller, s.env
	return s.env.Write(func(ctx context.Context) (ui.Then, ui.Notify) {
		_, err := endpoint.Do(ctx, caller, endpoint.DeleteFile, r)
		done := env.Proven(r.CUID, r.ID, "Deleted "+name+".")
		return func() (ui.Action, tea.Cmd) {
			s.Doing = ""
			return ui.Ended("Deleting", done, err), s.Reload()
		}, ui.EndedElsewhere("Not deleted", done, err)
	})
}

// KindAccounts is the kind of these places; with an ID it is one account.
const KindAccounts = "accounts"

// accountTerms is the filter language over accounts.
var accountTerms = filter.NewTable(append(filter.Catalogued(field.Accounts),
	filter.Field[api.Account]{Kind: filter.Free,
		Help: "contained in its name, its customer's name or an id", Example: `"oak & iron"`,
		Strings: func(a api.Account) []string {
			return []string{string(a.Name), string(a.Customer.Name), string(a.ID), string(a.Customer.ID)}
		}})...)

// NewAccounts returns the screen of one account, or the list if id is ""; start is the list's filter.
func NewAccounts(env *ui.Env, caller endpoint.Caller, id, start string) ui.Screen {
	return newScreen(env, Spec[api.Account]{Kind: KindAccounts, Title: "Accounts", One: "account",
		Many: "accounts", Class: "account",
		Catalogue: field.Accounts, Columns: []string{"name", "status", "balance", "hold", "customer", "number", "id"},
		Language: accountTerms, Example: "balance<0 currency:EUR customer:acme",
		ID:   func(a api.Account) string { return string(a.ID) },
		CUID: func(a api.Account) string { return string(a.Customer.ID) },
		Raw:  func(a api.Account) json.RawMessage { return a.Raw },
		Read: func(ctx context.Context, at api.PageAt, _ string) (api.Page[api.Account], error) {
			return endpoint.Do(ctx, caller, endpoint.ListAccounts, api.AccountQuery{Page: at.Page, Next: at.Next})
		},
		Get: func(ctx context.Context, id string) (api.Account, error) {
			return endpoint.Do(ctx, caller, endpoint.GetAccount, id)
		},
		Head: accountHead, Card: present.Account}, id, start)
}

// accountHead answers whether there is money on it.
func accountHead(a api.Account) string {
	balance := "balance not reported"
	if m := a.Balance.Value(); !m.Empty() {
		balance = format.Money(m)
	}
	if m := a.Hold.Value(); !m.Empty() {
		balance += ", " + format.Money(m) + " on hold"
	}
	return cmp.Or(a.Name, a.ID).Line(100) + ": " + balance
}

// KindCounterparties is the kind of these places; with an ID it is one counterparty.
const KindCounterparties = "counterparties"

// counterpartyTerms is the filter language over counterparties.
var counterpartyTerms = filter.NewTable(append(filter.Catalogued(field.Counterparties),
	filter.Field[api.Counterparty]{Name: "status", Kind: filter.Code, Help: "the status word of one of its accounts",
		Example: "status:MODERATION",
		Strings: func(p api.Counterparty) []string {
			var out []string
			for _, s := range p.Statuses() {
				out = append(out, string(s))
			}
			return out
		}},
	filter.Field[api.Counterparty]{Kind: filter.Free,
		Help: "contained in its name, its customer's name or an id", Example: `"oak & iron"`,
		Strings: func(p api.Counterparty) []string {
			return []string{string(p.Name()), string(p.Customer.Name), string(p.ID), string(p.Customer.CUID)}
		}})...)

// NewCounterparties returns the screen of one counterparty, or the list if id is ""; start is the list's filter.
func NewCounterparties(env *ui.Env, caller endpoint.Caller, id, start string) ui.Screen {
	return newScreen(env, Spec[api.Counterparty]{Kind: KindCounterparties, Title: "Counterparties",
		One: "counterparty", Many: "counterparties", Class: "general",
		Catalogue: field.Counterparties, Columns: []string{"name", "status", "customer", "updated", "id"},
		Language: counterpartyTerms, Example: "status:MODERATION customer:acme",
		ID:   func(p api.Counterparty) string { return string(p.ID) },
		CUID: func(p api.Counterparty) string { return string(p.Customer.CUID) },
		Raw:  func(p api.Counterparty) json.RawMessage { return p.Raw },
		Read: func(ctx context.Context, at api.PageAt, _ string) (api.Page[api.Counterparty], error) {
			return endpoint.Do(ctx, caller, endpoint.ListCounterparties, api.CounterpartyQuery{Page: at.Page, Next: at.Next})
		},
		Get: func(ctx context.Context, id string) (api.Counterparty, error) {
			return endpoint.Do(ctx, caller, endpoint.GetCounterparty, id)
		},
		Head: counterpartyHead, Card: present.Counterparty}, id, start)
}

// counterpartyHead returns whether the counterparty may be paid: the number of its accepted accounts, and
// the status of the first others.
func counterpartyHead(p api.Counterparty) string {
	name, accepted, others := cmp.Or(p.Name(), p.ID).Line(100), 0, ""
	for i, a := range p.Accounts {
		switch {
		case api.StandingOf(a.Status) == api.StandingAccepted:
			accepted++
		case i-accepted < 3:
			others += ", " + strings.TrimSpace(a.CurrencyCode.Line(12)+" "+cmp.Or(a.Status, "status not reported").Line(30))
		}
	}
	switch n := len(p.Accounts); {
	case p.Accounts == nil:
		return name + ": accounts not reported"
	case n == 0:
		return name + ": no account"
	default:
		return name + ": " + format.Count(accepted) + " of " + format.Plural(n, "account", "accounts") + " accepted" + others
	}
}

// The kinds of these places.
const (
	KindLimits      = "paymentlimits"
	KindCommissions = "commissions"
)

// tariffTerms is the filter language over both.
var tariffTerms = filter.NewTable(append(filter.Catalogued(field.Tariffs),
	filter.Field[api.Tariff]{Kind: filter.Free, Help: "contained in any of these fields", Example: "SWIFT",
		Strings: func(t api.Tariff) []string {
			return []string{string(t.From), string(t.To), string(t.OperationType), string(t.PaymentType), string(t.CUID),
				string(t.Others())}
		}})...)

// NewLimits lists the limits of payments; start is a filter to begin with.
func NewLimits(env *ui.Env, caller endpoint.Caller, start string) ui.Screen {
	return newTariffs(env, Spec[api.Tariff]{Kind: KindLimits, Title: "Payment limits",
		Card: present.PaymentLimit, Page: true, One: "payment limit",
		Many:    "payment limits",
		Columns: []string{"from", "to", "payment", "cuid", "id"}, Read: reading(caller, endpoint.ListPaymentLimits)}, start)
}

// NewCommissions lists the commissions; start is a filter to begin with.
func NewCommissions(env *ui.Env, caller endpoint.Caller, start string) ui.Screen {
	return newTariffs(env, Spec[api.Tariff]{Kind: KindCommissions, Title: "Commissions",
		Card: present.Commission, Page: true, One: "commission",
		Many:    "commissions",
		Columns: []string{"from", "to", "type", "payment", "percent", "fixed", "cuid"}, Read: reading(caller,
			endpoint.ListCommissions)}, start)
}

// reading reads a page of either.
func reading(caller endpoint.Caller, what endpoint.Endpoint[api.TariffQuery,
	api.Page[api.Tariff]]) func(context.Context, api.PageAt, string) (api.Page[api.Tariff], error) {
	return func(ctx context.Context, at api.PageAt, _ string) (api.Page[api.Tariff], error) {
		return endpoint.Do(ctx, caller, what, api.TariffQuery{Page: at.Page, Next: at.Next})
	}
}

func newTariffs(env *ui.Env, spec Spec[api.Tariff], start string) ui.Screen {
	spec.Class, spec.Catalogue, spec.Language = "billing", field.Tariffs, tariffTerms
	spec.Example = "from:USD payment:SWIFT"
	spec.ID, spec.CUID = api.Tariff.Key, func(t api.Tariff) string { return string(t.CUID) }
	spec.Raw = func(t api.Tariff) json.RawMessage { return t.Raw }
	spec.Added = func(all []api.Tariff) []Column[api.Tariff] {
		out := members(env, all)
		if len(out) > maxMembers { // the column of the catalogue has them all
			out = append(out[:maxMembers], ColumnOf(field.Tariffs, "others"))
		}
		return out
	}
	return newList(env, spec, start)
}

const maxMembers = 12 // columns of members without a name here

// members are columns of what the service sent beside the named members; moments are last.
func members(env *ui.Env, all []api.Tariff) []Column[api.Tariff] {
	var out []Column[api.Tariff]
	for _, m := range present.Members(env.Present(), all) {
		c := Column[api.Tariff]{Column: m, Before: "cuid"}
		if m.Time {
			c.Before = ""
		}
		out = append(out, c)
	}
	return out
}
