package api

// ActKind names a call of the service, or an act on the session. It is the name of its
// command with a dot for the space, and of a write the name in the audit trail. Package
// endpoint declares what each one is; package act holds what people read about them.
type ActKind string

// The writes at the service.
const (
	ActRemoveDocument ActKind = "document.remove"
	ActAttachDocument ActKind = "document.attach"
	ActUploadDocument ActKind = "document.upload"
	ActDeleteFile     ActKind = "customer.delete-file"
	ActShare          ActKind = "compliance.share"
	ActLink           ActKind = "compliance.link" // makes a single-use link: a GET that changes something
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
