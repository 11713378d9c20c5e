package sandbox

import (
	"net/http"
	"regexp"
	"strings"
)

// Classes of the recommended rates.
const (
	classLogin    = "login"
	classRefresh  = "refresh"
	classAccount  = "account"
	classCustomer = "customer"
	classBilling  = "billing"
	classGeneral  = "general"
	classAdmin    = "admin" // not part of the service, not counted
)

// recommended are the documented requests a minute.
func recommended() map[string]int {
	return map[string]int{classLogin: 6, classRefresh: 1, classAccount: 12, classCustomer: 12, classBilling: 12,
		classGeneral: 20}
}

// handler returns the body of a 200, which is written as JSON, or a whole answer.
type handler func(*call) (any, error)

// route is one endpoint.
type route struct {
	pattern string // of http.ServeMux: method and path
	name    string // for faults
	handle  handler
	class   string // of the recommended rates
	known   bool   // without handle: other methods have the path
}

func table() []route {
	routes := []route{
		{pattern: "POST /v2/auth/login", name: "login", handle: with(login)},
		{pattern: "GET /v2/auth/refresh/{token}", name: "refresh", handle: refresh},
		{pattern: "GET /v2/billing/operation", name: "list", handle: listOperations},
		{pattern: "GET /v2/billing/operation/{id}", name: "get", handle: getOperation},
		{pattern: "GET /v2/billing/operation/{id}/tree", name: "tree", handle: operationTree},
		{pattern: "POST /v2/billing/operation/{id}/document", name: "attach", handle: with(attachDocument)},
		{pattern: "DELETE /v2/billing/operation/{id}/document/{documentId}", name: "remove", handle: removeDocument},
		{pattern: "GET /v2/billing/limits", name: "limits", handle: listLimits},
		{pattern: "GET /v2/billing/commission", name: "commissions", handle: listCommissions},
		{pattern: "GET /v2/customer", name: "customers", handle: listCustomers},
		{pattern: "POST /v2/customer/file", name: "upload", handle: uploadFile},
		{pattern: "GET /v2/customer/{customerId}", name: "customer-get", handle: getCustomer},
		{pattern: postCustomer, name: "customer-get", handle: getCustomer},
		{pattern: "GET /v2/customer/{customerId}/application", name: "application", handle: getApplication},
		{pattern: "POST /v2/customer/{customerId}/application", name: "set-application",
			handle: asAction(with(setApplication))},
		{pattern: "PATCH /v2/customer/{customerId}/application", name: "finalize", handle: asAction(finalize)},
		{pattern: "GET /v2/customer/{customerId}/file", name: "files", handle: listFiles},
		{pattern: "GET /v2/customer/{customerId}/file/{id}", name: "download", handle: downloadFile},
		{pattern: "DELETE /v2/customer/{customerId}/file/{id}", name: "delete-file", handle: deleteFile},
		{pattern: "POST /v2/compliance/{customerId}/share", name: "share", handle: with(share)},
		{pattern: "GET /v2/compliance/{customerId}/web_sdk_link", name: "link", handle: webLink},
		{pattern: "GET /v2/account", name: "accounts", handle: listAccounts},
		{pattern: "GET /v2/account/{id}", name: "account-get", handle: getAccount},
		{pattern: "GET /v2/counterparty", name: "counterparties", handle: listCounterparties},
		{pattern: "GET /v2/counterparty/{counterpartyId}", name: "counterparty", handle: getCounterparty},
		{pattern: "GET /v2/report/operations", name: "report", handle: reportOperations},
		{pattern: "GET /v2/user", name: "users", handle: listUsers},
		{pattern: "GET /v2/hook/get", name: "hook-get", handle: getHook},
		{pattern: "POST /v2/hook/set", name: "hook-set", handle: with(setHook)},
	}
	routes = append(routes, adminTable()...)
	for i := range routes {
		_, path, _ := strings.Cut(routes[i].pattern, " ")
		routes[i].class = classOf(path)
	}
	return routes
}

// postCustomer is there only with variantPost, which takes the GET away.
const postCustomer = "POST /v2/customer/{customerId}"

// offered reports whether the route is there with the variants of this call.
func (rt route) offered(c *call) bool {
	return rt.name != "customer-get" || c.variants[variantPost] == (rt.pattern == postCustomer)
}

// open reports whether the route needs no access token.
func (rt route) open() bool {
	return rt.class == classLogin || rt.class == classRefresh || rt.class == classAdmin
}

// classOf is the class of a path, also of one that no endpoint has.
func classOf(path string) string {
	for prefix, class := range map[string]string{"/v2/auth/login": classLogin, "/v2/auth/refresh/": classRefresh,
		"/v2/account":  classAccount,
		"/v2/customer": classCustomer, "/v2/billing": classBilling, "/v2/report": classBilling, "/sandbox/": classAdmin} {
		if strings.HasPrefix(path, prefix) {
			return class
		}
	}
	return classGeneral
}

// newMux dispatches to serve.
func (s *Service) newMux() *http.ServeMux {
	mux := http.NewServeMux()
	for _, rt := range table() {
		mux.HandleFunc(rt.pattern, func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, rt) })
	}
	return mux
}

// dispatch finds the endpoint of a request. Unknown requests are counted and may
// meet faults too.
func (s *Service) dispatch(w http.ResponseWriter, r *http.Request) {
	if _, pattern := s.mux.Handler(r); pattern != "" {
		s.mux.ServeHTTP(w, r)
		return
	}
	rt := route{class: classOf(r.URL.Path)}
	for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
		_, pattern := s.mux.Handler(&http.Request{Method: method, URL: r.URL, Host: r.Host})
		rt.known = rt.known || pattern != ""
	}
	s.serve(w, r, rt)
}

var wildcard = regexp.MustCompile(`\{(\w+)\}`)

// params are the values of the pattern's wildcards in their order.
func (rt route) params(r *http.Request) []string {
	var values []string
	for _, name := range wildcard.FindAllStringSubmatch(rt.pattern, -1) {
		values = append(values, r.PathValue(name[1]))
	}
	return values
}
