package sandbox

import (
	"net/http"
	"strings"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/limit"
	"opdeck/api/pattern"
)

// classAdmin is not part of the service, and not counted.
const classAdmin limit.Class = "admin"

// handler returns the body of a 200, which is written as JSON, or a whole answer.
type handler func(*call) (any, error)

// route is one endpoint.
type route struct {
	pattern string // of http.ServeMux: method and path
	name    string // for faults
	handle  handler
	class   limit.Class // of the recommended rates
	known   bool        // without handle: other methods have the path
}

// table is what the service answers: the calls that package endpoint declares, and the paths of administration.
func table() []route {
	routes := []route{
		of(endpoint.Of(api.ActSessionLogin), "login", with(login)),
		of(endpoint.Of(api.ActSessionRefresh), "refresh", refresh),
		of(endpoint.ListOperations.Route, "list", listOperations),
		of(endpoint.GetOperation.Route, "get", getOperation),
		of(endpoint.GetOperationTree.Route, "tree", operationTree),
		of(endpoint.AttachDocument.Route, "attach", with(attachDocument)),
		of(endpoint.RemoveDocument.Route, "remove", removeDocument),
		of(endpoint.ListPaymentLimits.Route, "limits", listLimits),
		of(endpoint.ListCommissions.Route, "commissions", listCommissions),
		of(endpoint.ListCustomers.Route, "customers", listCustomers),
		of(endpoint.UploadDocument.Route, "upload", uploadFile),
		of(endpoint.GetCustomer.Route, "customer-get", getCustomer),
		{pattern: postCustomer, name: "customer-get", handle: getCustomer},
		of(endpoint.GetApplication.Route, "application", getApplication),
		of(endpoint.SetApplication.Route, "set-application", asAction(with(setApplication))),
		of(endpoint.Finalize.Route, "finalize", asAction(finalize)),
		of(endpoint.ListFiles.Route, "files", listFiles),
		of(endpoint.DownloadDocument.Route, "download", downloadFile),
		of(endpoint.DeleteFile.Route, "delete-file", deleteFile),
		of(endpoint.Share.Route, "share", with(share)),
		of(endpoint.MakeLink.Route, "link", webLink),
		of(endpoint.ListAccounts.Route, "accounts", listAccounts),
		of(endpoint.GetAccount.Route, "account-get", getAccount),
		of(endpoint.ListCounterparties.Route, "counterparties", listCounterparties),
		of(endpoint.GetCounterparty.Route, "counterparty", getCounterparty),
		of(endpoint.GetReport.Route, "report", reportOperations),
		of(endpoint.ListUsers.Route, "users", listUsers),
		of(endpoint.GetHooks.Route, "hook-get", getHook),
		of(endpoint.SetHooks.Route, "hook-set", with(setHook)),
	}
	routes = append(routes, adminTable()...)
	for i := range routes {
		_, path, _ := strings.Cut(routes[i].pattern, " ")
		routes[i].class = classOf(path)
	}
	return routes
}

// of is the route of a declared call.
func of(r *endpoint.Route, name string, handle handler) route {
	return route{pattern: r.Method + " " + r.Path, name: name, handle: handle}
}

// postCustomer exists only with variantPost, which removes the GET.
var postCustomer = "POST " + endpoint.GetCustomer.Path

// offered reports whether the route exists with the variants of this call.
func (rt route) offered(c *call) bool {
	return rt.name != "customer-get" || c.variants[variantPost] == (rt.pattern == postCustomer)
}

// open reports whether the route needs no access token.
func (rt route) open() bool {
	return rt.class == limit.Login || rt.class == limit.Refresh || rt.class == classAdmin
}

// classOf is the class of a path, also of one that no endpoint has.
func classOf(path string) limit.Class {
	if strings.HasPrefix(path, "/sandbox/") {
		return classAdmin
	}
	return endpoint.ClassOf(path)
}

// newMux dispatches to serve.
func (s *Service) newMux() *http.ServeMux {
	mux := http.NewServeMux()
	for _, rt := range table() {
		mux.HandleFunc(rt.pattern, func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, rt) })
	}
	return mux
}

// dispatch finds the endpoint of a request. Unknown requests are counted too, and
// faults apply to them.
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

var wildcard = pattern.New(`\{(\w+)\}`)

// params are the values of the pattern's wildcards in their order.
func (rt route) params(r *http.Request) []string {
	var values []string
	for _, name := range wildcard.FindAllStringSubmatch(rt.pattern, -1) {
		values = append(values, r.PathValue(name[1]))
	}
	return values
}
