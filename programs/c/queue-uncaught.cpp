// A queue of C++ whose consumers do not expect that it is closed: the exception of the second one ends the program.
//
//# verdict: violated

#include <mutex>
#include <stdexcept>
#include <thread>

std::mutex lock;
int length = 1;

void take() {
    std::lock_guard<std::mutex> guard(lock);
    if (length == 0) throw std::runtime_error("the queue is closed");
    length--;
}

int main() {
    std::thread first(take), second(take);
    first.join();
    second.join();
}
