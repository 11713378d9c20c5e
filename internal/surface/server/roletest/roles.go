package roletest

import (
	"slices"

	"opdeck/api"
	"opdeck/internal/e2e/racedetector"
)

// Roles are the roles that tests of a whole table try: all of them, or the two with the fewest and the most permissions
// under the race detector, which looks for races and not for permissions. .ci/run runs these tests without it, too.
func Roles() []api.Role {
	if racedetector.Enabled {
		return []api.Role{api.Roles[0], api.Roles[len(api.Roles)-1]}
	}
	return api.Roles
}

// SmokeRoles are a role that may change nothing and one that may: what each surface tries by itself. TestTheGate tries
// every act as every role where that is decided.
var SmokeRoles = []api.Role{api.Viewer, api.Operator}

// Smoke is the part of Table that each surface tries as SmokeRoles: writes, a session's, a read and an export.
func Smoke() []Row {
	names := []string{"document.remove", "compliance.share", "session.reset", "operation.get", "operation.export",
		"audit.verify"}
	return slices.DeleteFunc(slices.Clone(Table), func(r Row) bool { return !slices.Contains(names, r.Name) })
}
