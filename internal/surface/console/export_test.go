package console

// SitDown is for tests that need commands, too.
var SitDown = sitDown
