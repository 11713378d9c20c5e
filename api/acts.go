package api

// ActKind names a call of the service or an act on the session: its command with a dot in place of the space. For a
// write it is also the name in the audit trail. Package endpoint declares each kind; package act holds the texts for
// people.
type ActKind string

// The writes to the service.
const (
	ActRemoveDocument ActKind = "document.remove"
	ActAttachDocument ActKind = "document.attach"
	ActUploadDocument ActKind = "document.upload"
	ActDeleteFile     ActKind = "customer.delete-file"
	ActShare          ActKind = "compliance.share"
	ActLink           ActKind = "compliance.link" // creates a single-use link: a GET that has an effect
	ActFinalize       ActKind = "compliance.finalize"
	ActSetApplication ActKind = "customer.set-application"
	ActSetHooks       ActKind = "hook.set"
)

// The acts on the session.
const (
	ActSessionRefresh ActKind = "session.refresh"
	ActSessionLogin   ActKind = "session.login"
	ActSessionReset   ActKind = "session.reset"
)

// ActAddNote writes down a note for colleagues, which opdeck keeps and never sends.
const ActAddNote ActKind = "note.add"

// ActAuditRestored says that a restored backup is why the audit trail is older than its checkpoints.
const ActAuditRestored ActKind = "audit.restored"
