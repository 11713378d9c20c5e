//go:build !linux && !darwin

package localuser

func loginUID() string { return "" }

func bootID() string { return "" }

func mapped() string { return "" }
