// Package sshserver serves the console, and the commands that are its twin, over SSH.
//
// Who a person is comes from the key or the certificate that was proven and from
// nothing else: the login name of a connection must agree with it but decides
// nothing. There is no password, no forwarding, no agent, no subsystem and no
// shell. The package knows nothing of consoles or commands; it is given one
// function for each (a console comes drawn or in lines) and brings the person, a
// terminal and limits.
//
// charm.land/ssh does the connection and the authentication exchange. Its session
// handler is not used: it keeps any number of environment variables, stops
// reading requests when nobody takes the window changes, and answers yes to agent
// forwarding. See channel.go for ours.
package sshserver
