// A queue of C++ that can be closed: a consumer that finds it empty and closed gets an exception. Two consumers and one item; the
// second consumer catches it.
//
//# verdict: verified

#include <cassert>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <stdexcept>
#include <thread>

class Queue {
    std::mutex lock;
    std::condition_variable changed;
    std::deque<int> items;
    bool is_closed = false;

public:
    void push(int item) {
        {
            std::lock_guard<std::mutex> guard(lock);
            items.push_back(item);
        }
        changed.notify_one();
    }

    void close() {
        {
            std::lock_guard<std::mutex> guard(lock);
            is_closed = true;
        }
        changed.notify_all();
    }

    int pop() {
        std::unique_lock<std::mutex> guard(lock);
        changed.wait(guard, [this] { return !items.empty() || is_closed; });
        if (items.empty()) throw std::runtime_error("the queue is closed");
        int item = items.front();
        items.pop_front();
        return item;
    }
};

int main() {
    Queue queue;
    int taken = 0, closed = 0;
    std::mutex lock;
    auto consume = [&] {
        try {
            int item = queue.pop();
            std::lock_guard<std::mutex> guard(lock);
            taken += item;
        } catch (const std::runtime_error &) {
            std::lock_guard<std::mutex> guard(lock);
            closed++;
        }
    };
    std::thread first(consume), second(consume);
    queue.push(7);
    queue.close();
    first.join();
    second.join();
    assert(taken == 7 && closed == 1);
}
