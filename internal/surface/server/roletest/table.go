// Package roletest is the table of permissions for the tests that try each act as each role: at the gate, on the
// screens, as a local command and over SSH. An act or a permission without a row fails the package's own test.
package roletest

import (
	"maps"
	"slices"
	"strings"

	"opdeck/api"
	"opdeck/internal/act"
)

// Row is one act with all ways to do it.
type Row struct {
	Name string // of the act

	// From the table of acts: the kind at the gate ("" if it is not a write to the service), the required permission,
	// and the event of the permitted act in the trail ("" if it is not recorded).
	Kind  api.ActKind
	Need  api.Permission
	Event string

	// Command is the act as a command, with objects in braces; "" for none. In is its standard input.
	Command string
	In      string

	// Place, ID and Keys are the act on a screen; without keys there is none. Keys are written as in the keymap; "~"
	// waits until a question accepts keys, and ' precedes typed text.
	Place, ID string
	Keys      []string
}

// Words maps the names in braces to objects.
type Words map[string]string

// Fill replaces the names in a text of the table by objects.
func (w Words) Fill(s string) string {
	for _, name := range slices.Sorted(maps.Keys(w)) {
		s = strings.ReplaceAll(s, "{"+name+"}", w[name])
	}
	return s
}

// Table lists every act. Its rows speak of these objects:
//
//	{op} {doc}    an operation that may be changed, and an unlocked document of it
//	{cuid}        a customer that was not shared yet and has an application
//	{token}       a share token for that customer
//	{account}     an account that an operation names, {payee} a counterparty
//	{free}        a document of that customer's store that is attached nowhere
//	{file}        a file of this host; {new} one that is not there yet
//	{event}       a stored webhook event
//	{request}     someone else's write that waits for a second person
var Table = filled([]Row{
	{Name: "document.remove", Event: string(api.ActRemoveDocument),
		Command: "document remove {op} {doc} --yes", Place: "documents", ID: "{op}", Keys: []string{"x", "~", "y"}},
	{Name: "document.restore", Event: string(api.ActAttachDocument),
		Command: "document restore {op} {free} --yes", Place: "documents", ID: "{op}",
		Keys: []string{"x", "~", "y", "z", "~", "y"}},
	{Name: "document.attach", Event: string(api.ActAttachDocument),
		Command: "document attach {op} {free} --yes", Place: "documents", ID: "{op}",
		Keys: []string{"a", "'{free}", "enter", "~", "y"}},
	{Name: "document.upload", Event: string(api.ActUploadDocument),
		Command: "document upload - --name a.pdf --customer {cuid} --yes", In: "%PDF-1.4\n%%EOF\n", Place: "documents",
		ID: "{op}", Keys: []string{"u", "'{file}", "enter", "enter", "enter", "~", "y"}},
	{Name: "document.replace", Event: string(api.ActUploadDocument),
		Command: "document replace {op} {doc} - --name a.pdf --yes", In: "%PDF-1.4\n%%EOF\n", Place: "documents", ID: "{op}",
		Keys: []string{"R", "'{file}", "enter", "enter", "enter", "~", "y"}},
	{Name: "compliance.share", Event: string(api.ActShare),
		Command: "compliance share {cuid} --yes", In: "{token}\n", Place: "compliance", ID: "{cuid}",
		Keys: []string{"S", "'{token}", "enter", "~", "y"}},
	{Name: "compliance.link", Event: string(api.ActLink),
		Command: "compliance link {cuid} --yes", Place: "compliance", ID: "{cuid}", Keys: []string{"l", "~", "y"}},
	{Name: "compliance.finalize", Event: string(api.ActFinalize),
		Command: "compliance finalize {cuid} --yes", Place: "compliance", ID: "{cuid}", Keys: []string{"f", "~", "y"}},
	{Name: "customer.set-application", Event: string(api.ActSetApplication),
		Command: "customer set-application {cuid} - --yes", In: `{"individual":{}}`},
	{Name: "customer.delete-file", Event: string(api.ActDeleteFile),
		Command: "customer delete-file {cuid} {free} --yes", Place: "compliance", ID: "{cuid}",
		Keys: []string{"F", "x", "~", "y"}},
	{Name: "hook.set", Event: string(api.ActSetHooks),
		Command: "hook set --enabled=true --url https://example.com/h --yes", Place: "events",
		Keys: []string{"W", "enter", "enter", "enter", "enter", "enter", "enter", "enter", "enter", "~", "y"}},
	{Name: "session.refresh", Event: string(api.ActSessionRefresh),
		Command: "session refresh --yes", Place: "session", Keys: []string{"Z", "~", "y"}},
	{Name: "session.login", Event: string(api.ActSessionLogin),
		Command: "session login --yes", Place: "session", Keys: []string{"I", "~", "y"}},
	{Name: "session.reset", Event: string(api.ActSessionReset),
		Command: "session reset --yes", Place: "session", Keys: []string{"X", "~", "y"}},

	{Name: "operation.get", Command: "operation get {op}", Place: "operation", ID: "{op}", Keys: []string{"r"}},
	{Name: "reveal", Place: "operation", ID: "{op}", Keys: []string{"M"}},
	{Name: "operation.export", Command: "operation export - -o jsonl --cached", Place: "operations",
		Keys: []string{"e", "ctrl+u", "'{new}", "enter"}},
	{Name: "document.download", Command: "document download {cuid} {free} -", Place: "documents", ID: "{op}",
		Keys: []string{"w", "ctrl+u", "'{new}", "enter"}},
	{Name: "approval.approve", Command: "approval approve {request} --yes", Place: "approvals",
		Keys: []string{"+", "~", "y"}},
	{Name: "approval.deny", Command: "approval deny {request} --reason no --yes", Place: "approvals",
		Keys: []string{"-", "'not this one", "enter", "~", "y"}},
	{Name: "event.replay", Command: "event replay {event} --yes", Place: "events", Keys: []string{"u", "~", "y"}},
	{Name: "audit.list", Command: "audit list", Place: "audit", Keys: []string{"r"}},
	{Name: "audit.verify", Command: "audit verify", Place: "audit", Keys: []string{"V"}},
	{Name: "audit.checkpoint", Command: "audit checkpoint"},
	{Name: "notify.test", Command: "notify test"},
	{Name: "operation.report", Command: "operation report -"},
	{Name: "audit.export", Command: "audit export -", Place: "audit", Keys: []string{"e", "ctrl+u", "'{new}", "enter"}},
	{Name: "note.add", Command: "note add {op} called the bank", Place: "operation", ID: "{op}",
		Keys: []string{"N", "'called the bank", "enter"}},
})

// filled copies into each row what its act declares.
func filled(rows []Row) []Row {
	for i, r := range rows {
		a := act.Find(r.Name)
		rows[i].Need, rows[i].Event = a.Need, a.AuditEvent()
		switch own := act.Of(api.ActKind(a.Name)); {
		case own != nil && len(own.Sends) > 0 && string(own.Sends[0]) == a.Name:
			rows[i].Kind = own.Sends[0]
		case r.Name == "document.replace": // if the removal is refused, the upload is recorded
			rows[i].Kind, rows[i].Event = api.ActUploadDocument, string(api.ActUploadDocument)
		case len(a.Sends) > 0:
			rows[i].Kind = a.Sends[0]
		}
	}
	return rows
}
