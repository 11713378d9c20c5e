// Package limit keeps the calls of all processes that share one machine
// account within the service's recommended rates.
package limit

// Class is a group of endpoints that share one recommended rate.
type Class string

// The classes (spec, Limits). The paths of the service's rate table carry an
// "/api" that its real paths lack; the classes go by the real ones.
const (
	Login    Class = "login"    // POST /v2/auth/login
	Refresh  Class = "refresh"  // GET /v2/auth/refresh/{token}
	Account  Class = "account"  // /v2/account
	Customer Class = "customer" // /v2/customer
	Billing  Class = "billing"  // /v2/billing, /v2/report
	General  Class = "general"  // everything else
)

// Classes lists all classes in the order in which they are shown.
var Classes = []Class{Login, Refresh, Account, Customer, Billing, General}

// Recommended returns the recommended calls per minute (spec, Limits).
func Recommended() map[Class]int {
	return map[Class]int{Login: 6, Refresh: 1, Account: 12, Customer: 12, Billing: 12, General: 20}
}
