package roletest

import (
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
