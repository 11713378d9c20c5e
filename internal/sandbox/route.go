package sandbox

import (
	"net/http"
	"regexp"
	"strings"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/limit"
)

// classPage is the class of the page behind a compliance link: not part of the service, and not counted.
const classPage limit.Class = "page"

// handler returns the body of a 200, which is written as JSON, or a whole answer.
type handler func(*call) (any, error)

// route is one endpoint.
type route struct {
	pattern string // of http.ServeMux: method and path
	name    string // for package faulty; "": it never meets the route
	handle  handler
	class   limit.Class // of the recommended rates
	known   bool        // without handle: other methods have the path
}

// table is what the service answers: the calls that package endpoint declares, and the page behind a compliance link.
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
		{pattern: "GET " + verifyPath + "{id}", handle: openVerify},
		{pattern: "POST " + verifyPath + "{id}", handle: submitVerify},
	}
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

// Route is an endpoint of the service.
type Route struct {
	Name    string // "list", "remove" …
	Pattern string // of http.ServeMux: method and path
	Class   limit.Class
}

// Routes returns the endpoints of the service.
func Routes() []Route {
	var list []Route
	for _, rt := range table() {
		if rt.class != classPage {
			list = append(list, Route{rt.name, rt.pattern, rt.class})
		}
	}
	return list
}

// open reports whether the route needs no access token.
func (rt route) open() bool {
	return rt.class == limit.Login || rt.class == limit.Refresh || rt.class == classPage
}

// classOf is the class of a path, also of one that no endpoint has.
func classOf(path string) limit.Class {
	if strings.HasPrefix(path, verifyPath) {
		return classPage
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

// dispatch finds the endpoint of a request. Unknown requests are counted too.
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
