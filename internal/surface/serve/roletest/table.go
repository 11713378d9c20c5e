// Package roletest is the one table of what people may do, for the tests that try
// each act as each role: at the gate, through the screens, as a local command and
// over SSH. An act or a permission without a row fails the package's own test.
package roletest

import (
	"maps"
	"slices"
	"strings"

	"opdeck/api"
)

// Row is one act in all the ways that people have to it.
type Row struct {
	Name string
	Kind api.ActKind    // "" for what is no write at the service
	Need api.Permission // who lacks it is refused
	// Event is what the trail calls the act when it was let through; "" when it
	// leaves no record.
	Event string

	// Command is the act as a command, with words in braces for objects; "" when
	// there is none. In is its standard input.
	Command string
	In      string

	// Place, ID and Keys are the act on a screen; no keys: there is none. A key is
	// written as in the keymap; "~" waits until a question takes keys, and what
	// begins with ' is typed.
	Place, ID string
	Keys      []string
}

// Words are the objects of a row by their names in braces.
type Words map[string]string

// Fill puts the objects into a text of the table.
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
//	{free}        a document of that customer's store that is attached nowhere
//	{file}        a file of this host; {new} one that is not there yet
//	{event}       a stored webhook event
//	{request}     somebody else's write that waits for a second person
var Table = []Row{
	{Name: "remove", Kind: api.ActRemoveDocument, Need: api.MayDocuments, Event: string(api.ActRemoveDocument),
		Command: "document remove {op} {doc} --yes", Place: "documents", ID: "{op}", Keys: []string{"x", "~", "y"}},
	{Name: "put back", Kind: api.ActAttachDocument, Need: api.MayDocuments, Event: string(api.ActAttachDocument),
		Command: "document restore {op} {free} --yes", Place: "documents", ID: "{op}", Keys: []string{"x", "~", "y", "z", "~", "y"}},
	{Name: "attach", Kind: api.ActAttachDocument, Need: api.MayDocuments, Event: string(api.ActAttachDocument),
		Command: "document attach {op} {free} --yes", Place: "documents", ID: "{op}", Keys: []string{"a", "'{free}", "enter", "enter", "~", "y"}},
	{Name: "upload", Kind: api.ActUploadDocument, Need: api.MayDocuments, Event: string(api.ActUploadDocument),
		Command: "document upload - --name a.pdf --customer {cuid} --yes", In: "%PDF-1.4\n%%EOF\n", Place: "documents", ID: "{op}", Keys: []string{"u", "'{file}", "enter", "enter", "enter", "~", "y"}},
	{Name: "replace", Kind: api.ActUploadDocument, Need: api.MayDocuments, Event: string(api.ActUploadDocument),
		Command: "document replace {op} {doc} - --name a.pdf --yes", In: "%PDF-1.4\n%%EOF\n", Place: "documents", ID: "{op}", Keys: []string{"R", "'{file}", "enter", "enter", "enter", "~", "y"}},
	{Name: "share", Kind: api.ActShare, Need: api.MayCompliance, Event: string(api.ActShare),
		Command: "compliance share {cuid} --yes", In: "{token}\n", Place: "compliance", ID: "{cuid}", Keys: []string{"S", "'{token}", "enter", "~", "y"}},
	{Name: "link", Kind: api.ActLink, Need: api.MayCompliance, Event: string(api.ActLink),
		Command: "compliance link {cuid} --yes", Place: "compliance", ID: "{cuid}", Keys: []string{"l", "~", "y"}},
	{Name: "finalize", Kind: api.ActFinalize, Need: api.MayCompliance, Event: string(api.ActFinalize),
		Command: "compliance finalize {cuid} --yes", Place: "compliance", ID: "{cuid}", Keys: []string{"f", "~", "y"}},
	{Name: "set application", Kind: api.ActSetApplication, Need: api.MayCompliance, Event: string(api.ActSetApplication),
		Command: "customer set-application {cuid} - --yes", In: `{"individual":{}}`},
	{Name: "set hooks", Kind: api.ActSetHooks, Need: api.MayHooks, Event: string(api.ActSetHooks),
		Command: "hook set --enabled=true --url https://example.com/h --yes", Place: "events",
		Keys: []string{"W", "enter", "enter", "enter", "enter", "enter", "enter", "enter", "enter", "~", "y"}},
	{Name: "refresh", Kind: api.ActSessionRefresh, Need: api.MaySession, Event: string(api.ActSessionRefresh),
		Command: "session refresh --yes", Place: "session", Keys: []string{"F", "~", "y"}},
	{Name: "log in", Kind: api.ActSessionLogin, Need: api.MaySession, Event: string(api.ActSessionLogin),
		Command: "session login --yes", Place: "session", Keys: []string{"L", "~", "y"}},
	{Name: "reset", Kind: api.ActSessionReset, Need: api.MaySession, Event: string(api.ActSessionReset),
		Command: "session reset --yes", Place: "session", Keys: []string{"X", "~", "y"}},

	{Name: "read", Need: api.MayRead, Command: "operation get {op}", Place: "operation", ID: "{op}", Keys: []string{"r"}},
	{Name: "reveal", Need: api.MayReveal, Event: "reveal", Place: "operation", ID: "{op}", Keys: []string{"M"}},
	{Name: "export", Need: api.MayExport, Event: "export", Command: "operation export - -o jsonl --cached", Place: "operations", Keys: []string{"e", "ctrl+u", "'{new}", "enter"}},
	{Name: "download", Need: api.MayExport, Command: "document download {cuid} {free} -"},
	{Name: "approve", Need: api.MayApprove, Event: "approval.approved", Command: "approval approve {request}", Place: "approvals", Keys: []string{"P", "~", "y"}},
	{Name: "deny", Need: api.MayApprove, Event: "approval.denied", Command: "approval deny {request} --reason no", Place: "approvals", Keys: []string{"N", "'not this one", "enter", "~", "y"}},
	{Name: "replay event", Need: api.MayHooks, Command: "event replay {event}", Place: "events", Keys: []string{"w", "enter", "~", "y"}},
	{Name: "send event", Need: api.MayHooks, Command: "event send -", In: `{"hook_id":"6f1c1f0e-8a4b-4c8e-9d4f-0c6f5f6a7b8d","hook_type":1,"Data":{"Operation":{"opid":"{op}","status":2,"type":1}}}`},
	{Name: "read the trail", Need: api.MayAudit, Event: "audit.read", Command: "audit list", Place: "audit", Keys: []string{"r"}},
	{Name: "verify the trail", Need: api.MayAudit, Command: "audit verify", Place: "audit", Keys: []string{"V"}},
	{Name: "prove a record", Need: api.MayAuditOut, Event: "audit.extract", Command: "audit prove 1"},
	{Name: "export the trail", Need: api.MayAuditOut, Event: "audit.export", Command: "audit export -", Place: "audit", Keys: []string{"e", "ctrl+u", "'{new}", "enter"}},
}
