package api

// ActKind names a write at the service, or an act on the session. It is the name
// of its command with a dot for the space, and the name in the audit trail.
type ActKind string

// The writes. Package act holds what people read about them.
const (
	ActRemoveDocument ActKind = "document.remove"
	ActAttachDocument ActKind = "document.attach"
	ActUploadDocument ActKind = "document.upload"
	ActShare          ActKind = "compliance.share"
	ActLink           ActKind = "compliance.link" // makes a single-use link: a GET that changes something
	ActFinalize       ActKind = "compliance.finalize"
	ActSetApplication ActKind = "customer.set-application"
	ActSetHooks       ActKind = "hook.set"
	ActSessionRefresh ActKind = "session.refresh"
	ActSessionLogin   ActKind = "session.login"
	ActSessionReset   ActKind = "session.reset"
)

// actInfo is what the gate and the audit trail know of an act.
type actInfo struct {
	kind   ActKind
	need   Permission
	number string // of its event in the audit trail; never used again for another
}

var actTable = []actInfo{
	{ActRemoveDocument, MayDocuments, "101"},
	{ActAttachDocument, MayDocuments, "102"},
	{ActUploadDocument, MayDocuments, "103"},
	{ActShare, MayCompliance, "201"},
	{ActLink, MayCompliance, "202"},
	{ActFinalize, MayCompliance, "203"},
	{ActSetApplication, MayCompliance, "204"},
	{ActSetHooks, MayHooks, "301"},
	{ActSessionRefresh, MaySession, "401"},
	{ActSessionLogin, MaySession, "402"},
	{ActSessionReset, MaySession, "403"},
}

// former are names that acts had in trails and stores of earlier versions.
var former = map[ActKind]ActKind{"application.set": ActSetApplication}

// ActKinds lists all writes, in the order of their numbers.
func ActKinds() []ActKind {
	out := make([]ActKind, len(actTable))
	for i, a := range actTable {
		out[i] = a.kind
	}
	return out
}

// Current is the name that k has now; k itself when it never had another.
func (k ActKind) Current() ActKind {
	if now, ok := former[k]; ok {
		return now
	}
	return k
}

func (k ActKind) info() (actInfo, bool) {
	for _, a := range actTable {
		if a.kind == k.Current() {
			return a, true
		}
	}
	return actInfo{}, false
}

// Needs returns the permission that an act asks for; empty for an unknown one,
// which the gate refuses.
func (k ActKind) Needs() Permission { a, _ := k.info(); return a.need }

// AuditNumber is the stable number of the act's event in the audit trail; empty
// for an unknown one.
func (k ActKind) AuditNumber() string { a, _ := k.info(); return a.number }

// TouchesSession reports whether the act concerns only our own session: it needs
// no second person.
func (k ActKind) TouchesSession() bool { return k.Needs() == MaySession }
