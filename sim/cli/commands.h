// The subcommands, one source file each. They take the arguments after their name, print to standard output, throw
// InputError for what the user got wrong, and return the exit code: 0 fine, 1 a check failed.
#pragma once

#include <string>
#include <vector>

namespace uvmsim::cli {

int run_command(const std::vector<std::string>& arguments);
int bounds_command(const std::vector<std::string>& arguments);
int check_command(const std::vector<std::string>& arguments);
int check_policy_command(const std::vector<std::string>& arguments);
int compare_command(const std::vector<std::string>& arguments);
int league_command(const std::vector<std::string>& arguments);
int recommend_command(const std::vector<std::string>& arguments);
int report_command(const std::vector<std::string>& arguments);
int scenario_command(const std::vector<std::string>& arguments);
int sweep_command(const std::vector<std::string>& arguments);
int trace_command(const std::vector<std::string>& arguments);
int systems_command(const std::vector<std::string>& arguments);
int layouts_command(const std::vector<std::string>& arguments);
int policies_command(const std::vector<std::string>& arguments);
int validate_command(const std::vector<std::string>& arguments);
int calibrate_command(const std::vector<std::string>& arguments);

// The verbs that have options of their own.
std::vector<std::string> league_verbs();
std::vector<std::string> sweep_verbs();
std::vector<std::string> trace_verbs();

}  // namespace uvmsim::cli
