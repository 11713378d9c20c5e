package cli

import (
	"github.com/spf13/cobra"

	"opdeck/api"
)

// need is the permission that a command line asks for; "" for none.
type need func(args []string, given func(flag string) bool) api.Permission

func always(p api.Permission) need {
	return func([]string, func(string) bool) api.Permission { return p }
}

var (
	anybody   = always("")
	reads     = always(api.MayRead)
	exports   = always(api.MayExport)
	documents = always(api.MayDocuments)
	complies  = always(api.MayCompliance)
	approves  = always(api.MayApprove)
	sessions  = always(api.MaySession)
	hooks     = always(api.MayHooks)
	audits    = always(api.MayAudit)
)

// needs says what role each command asks for. It is looked at before anything else:
// before the command's own checks, and before anything is read or sent. The gate
// looks again at every write.
var needs = map[string]need{
	"opdeck":         reads, // the console
	"operation list": reads, "operation get": reads, "operation tree": reads, "operation history": reads, "operation export": exports,
	"document list": reads, "document remove": documents, "document restore": documents, "document attach": documents, "document upload": documents,
	"document replace": documents, "document download": exports,
	"document resume": func(args []string, _ func(string) bool) api.Permission {
		if len(args) == 0 { // a list
			return api.MayRead
		}
		return api.MayDocuments
	},
	"customer list": reads, "customer get": reads, "customer application": reads, "customer files": reads, "customer set-application": complies,
	"compliance share": complies, "compliance link": complies, "compliance finalize": complies, "compliance journey": reads,
	"session status": reads, "session refresh": sessions, "session login": sessions, "session reset": sessions, "session keep": sessions, "limits": reads,
	"event list": reads, "event show": reads, "event codes": reads, "event tail": reads, "event listen": reads, "event send": hooks, "event forward": exports,
	"event replay": func(_ []string, given func(string) bool) api.Permission {
		if given("to") {
			return api.MayExport
		}
		return api.MayHooks
	},
	"index status": reads, "index sync": reads, "index verify": reads, "index rebuild": sessions,
	"hook get": reads, "hook set": hooks,
	"audit list": audits, "audit verify": audits, "audit export": always(api.MayAuditOut), "audit prove": always(api.MayAuditOut), "audit witness": anybody, "audit key": reads,
	"audit unsettled": audits, "audit settle": audits,
	"approval list": reads, "approval show": reads, "approval approve": approves, "approval deny": approves,
	"serve": anybody, "sandbox": anybody, "doctor": anybody, "version": anybody, "help": anybody, "completion": anybody, "man": anybody,
	"config init": anybody, "config check": anybody, "config show": anybody, "config path": anybody,
}

// needOf is the permission that a command line asks for. One that is not in the
// table reads at least.
func needOf(cmd *cobra.Command, args []string) api.Permission {
	n, known := needs[path(cmd)]
	if !known {
		return api.MayRead
	}
	return n(args, cmd.Flags().Changed)
}
