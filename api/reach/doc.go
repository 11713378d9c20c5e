// Package reach names what kept a call from a useful answer: the network, TLS, a proxy, a gateway, or a refusal of the
// service in its own words. A Fault holds no token and no address of a person; every process may store it.
package reach
